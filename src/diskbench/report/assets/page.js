// What a mark says, where a pointer or a key is on it. The page is whole without this.
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const isMark = (one) => !one.closest(".role-axis, .role-legend, .role-title");
  const marksOf = (drawing) =>
    [...drawing.querySelectorAll("[role=graphics-symbol][aria-label]")].filter(isMark);

  const hide = () => { tip.hidden = true; };
  const show = (mark, x, y) => {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(x + 12, innerWidth - box.width - 6);
    const top = y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16;
    tip.style.left = `${Math.max(6, left)}px`;
    tip.style.top = `${Math.max(6, top)}px`;
  };
  const markOf = (one) => {
    const mark = one?.closest?.("[role=graphics-symbol][aria-label]");
    return mark && mark.closest(".drawing") && isMark(mark) ? mark : null;
  };

  // What is told is the mark under the pointer, else the one the keys are on. Both stay where they
  // are when the page scrolls, as it does by itself after a key has gone to a mark out of sight.
  let pointer = null;
  let keyed = null;
  const tell = (under) => {
    const mark = markOf(under);
    if (mark) return show(mark, pointer.x, pointer.y);
    const box = keyed?.getBoundingClientRect();
    if (!box || box.bottom < 0 || box.top > innerHeight) return hide();
    show(keyed, box.left + box.width / 2, box.top + box.height / 2);
  };
  document.addEventListener("pointermove", (event) => {
    pointer = { x: event.clientX, y: event.clientY };
    tell(event.target);
  });
  const scrolled = () => tell(pointer && document.elementFromPoint(pointer.x, pointer.y));
  document.addEventListener("scroll", scrolled, { passive: true, capture: true });

  // A drawing is one stop of the tab key; arrows, Home and End go from mark to mark, Enter to its row.
  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const onto = (mark) => {
    mark.setAttribute("tabindex", "-1");
    mark.focus();
    pointer = null;
    keyed = mark;
    tell(null);
  };
  for (const drawing of document.querySelectorAll(".drawing")) {
    if (!marksOf(drawing).length) continue;
    drawing.addEventListener("keydown", (event) => {
      const marks = marksOf(drawing);
      const at = marks.indexOf(document.activeElement);
      if (event.key in STEPS) onto(marks[Math.max(0, Math.min(marks.length - 1, at < 0 ? 0 : at + STEPS[event.key]))]);
      else if (event.key === "Home") onto(marks[0]);
      else if (event.key === "End") onto(marks[marks.length - 1]);
      else if (event.key === "Escape" && at >= 0) drawing.focus();
      else if (event.key === "Enter" && at >= 0) {
        const link = marks[at].closest("a");
        if (!link) return;
        location.href = link.getAttribute("href") ?? link.getAttribute("xlink:href");
      } else return;
      event.preventDefault();
    });
    drawing.addEventListener("focusout", () => {
      keyed = null;
      hide();
    });
  }

  // A row that a mark leads to may lie in what is folded.
  const unfold = () => {
    const row = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row) return;
    for (let one = row.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
    row.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", unfold);
  unfold();

  // Paper shows what is folded.
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details[data-paper]:not([open])")) { one.open = true; one.dataset.folded = ""; }
  });
  addEventListener("afterprint", () => {
    for (const one of document.querySelectorAll("details[data-folded]")) { one.open = false; delete one.dataset.folded; }
  });
})();
