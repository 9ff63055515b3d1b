"use strict";
// Listings: filters, sorting and paging of tables that are whole without this script. What is shown
// stands in the address (#provider=lab&sort=-when), so that a view can be sent on.
(() => {
  const NONE = "–";
  const collator = new Intl.Collator("en", { numeric: true });

  function read() {
    return new URLSearchParams(location.hash.slice(1));
  }

  function write(state) {
    const text = state.toString();
    const here = location.pathname + location.search;
    // A replaced entry, so that the back button leaves the page and not one letter of a search.
    history.replaceState(null, "", text ? `#${text}` : here);
  }

  function listing(section) {
    const form = section.querySelector("form");
    const status = section.querySelector(".status");
    const more = section.querySelector(".show-more");
    const heads = [...section.querySelectorAll("thead th")];
    const body = section.querySelector("tbody");
    const selects = [...form.querySelectorAll("select")];
    const leasts = [...form.querySelectorAll("input[type=number]")];
    const controls = [...selects, ...leasts].map((one) => one.name);
    const step = Number(section.dataset.step);
    const rows = [...section.querySelectorAll("tbody tr")].map((element, order) => ({
      element,
      order,
      text: element.textContent.toLowerCase(),
      cells: [...element.children].map((cell) => ({
        label: cell.firstChild ? cell.firstChild.textContent : "",
        value: cell.dataset.v,
      })),
    }));
    section.querySelector("tbody.more")?.remove();
    let shown = step;

    function value(row, place, number) {
      const cell = row.cells[place];
      const text = cell.value ?? cell.label;
      if (text === "") return null;
      return number ? Number(text) : text;
    }

    function compare(place, down) {
      const number = heads[place].classList.contains("number");
      return (one, other) => {
        const a = value(one, place, number);
        const b = value(other, place, number);
        if (a === null || b === null) return (a === null) - (b === null) || one.order - other.order;
        const found = number ? a - b : collator.compare(a, b);
        return (down ? -found : found) || one.order - other.order;
      };
    }

    function show() {
      const state = read();
      const words = (state.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = selects
        .map((select) => [Number(select.dataset.place), state.get(select.name)])
        .filter(([, chosen]) => chosen);
      const bounds = leasts
        .map((input) => [Number(input.dataset.place), Number(state.get(input.name))])
        .filter(([, least]) => least > 0);
      const found = rows.filter(
        (row) =>
          bounds.every(([place, least]) => (value(row, place, true) ?? -1) >= least) &&
          wanted.every(([place, chosen]) => (row.cells[place].label || NONE) === chosen) &&
          words.every((word) => row.text.includes(word)),
      );
      const sort = state.get("sort") ?? section.dataset.sort;
      const down = sort.startsWith("-");
      const place = heads.findIndex((head) => head.dataset.key === sort.slice(down ? 1 : 0));
      if (place >= 0) found.sort(compare(place, down));
      heads.forEach((head, at) => {
        if (at === place) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      body.replaceChildren(...found.slice(0, shown).map((row) => row.element));
      const count = (n) => n.toLocaleString("en");
      const all = found.length === rows.length;
      const first = found.length > shown ? `, the first ${count(shown)} shown` : "";
      const among = all ? "" : ` of ${count(rows.length)}`;
      const what = section.dataset.what.slice(0, all && rows.length === 1 ? -1 : undefined);
      status.textContent = `${count(found.length)}${among} ${what}${first}`;
      more.hidden = found.length <= shown;
    }

    function fill() {
      const state = read();
      form.elements.q.value = state.get("q") ?? "";
      for (const input of leasts) input.value = state.get(input.name) ?? "";
      for (const select of selects) {
        const chosen = state.get(select.name) ?? "";
        if (![...select.options].some((option) => option.value === chosen)) {
          select.add(new Option(`${chosen} (0)`, chosen));
        }
        select.value = chosen;
      }
    }

    function change(name, chosen) {
      const state = read();
      if (chosen) state.set(name, chosen);
      else state.delete(name);
      write(state);
      shown = step;
      show();
    }

    for (const head of heads) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const key = head.dataset.key;
        const now = head.getAttribute("aria-sort");
        // Of figures and times people want the largest first.
        const first = head.classList.contains("number") || key === "when" ? "descending" : "ascending";
        const next = now ? (now === "ascending" ? "descending" : "ascending") : first;
        change("sort", next === "descending" ? `-${key}` : key);
      });
    }
    form.addEventListener("input", (event) => change(event.target.name, event.target.value));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", (event) => {
      event.preventDefault();
      const state = read();
      for (const name of ["q", "sort", ...controls]) state.delete(name);
      write(state);
      fill();
      shown = step;
      show();
    });
    more.addEventListener("click", () => {
      const next = body.children[shown - 1];
      shown += step;
      show();
      next?.nextElementSibling?.querySelector("a")?.focus();
    });
    addEventListener("hashchange", () => {
      fill();
      show();
    });
    form.hidden = false;
    fill();
    show();
  }

  // Which metric is looked at stands in the address, too.
  function metrics(fieldset) {
    const choose = () => {
      const wanted = read().get("metric");
      const found = [...fieldset.querySelectorAll("input")].find((one) => one.value === wanted);
      if (found) found.checked = true;
    };
    fieldset.addEventListener("change", (event) => {
      const state = read();
      state.set("metric", event.target.value);
      write(state);
    });
    addEventListener("hashchange", choose);
    choose();
  }

  // The address holds what is shown: the way past the links must not take its place.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.querySelector("main").focus();
  });
  document.querySelectorAll(".listing").forEach(listing);
  document.querySelectorAll("fieldset.metrics").forEach(metrics);
})();
