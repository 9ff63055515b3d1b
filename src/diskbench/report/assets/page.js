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
  const markAt = (event) => {
    const mark = event.target.closest?.("[role=graphics-symbol][aria-label]");
    return mark && mark.closest(".drawing") && isMark(mark) ? mark : null;
  };
  document.addEventListener("pointermove", (event) => {
    const mark = markAt(event);
    if (mark) show(mark, event.clientX, event.clientY);
    else hide();
  });
  document.addEventListener("scroll", hide, { passive: true, capture: true });

  // A drawing is one stop of the tab key; arrows, Home and End go from mark to mark, Enter to its row.
  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const onto = (mark) => {
    mark.setAttribute("tabindex", "-1");
    mark.focus();
    const box = mark.getBoundingClientRect();
    show(mark, box.left + box.width / 2, box.top + box.height / 2);
  };
  for (const drawing of document.querySelectorAll(".drawing")) {
    if (!marksOf(drawing).length) continue;
    drawing.tabIndex = 0;
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
    drawing.addEventListener("focusout", hide);
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
