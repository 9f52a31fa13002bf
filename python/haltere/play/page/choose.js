// Buttons of which one is chosen: with the mouse, or with the arrow keys as radio buttons are.

export function choose(group, name, chosen) {
  const buttons = () => [...group.querySelectorAll("[role=radio], [role=tab]")];
  const attribute = (one) => one.getAttribute("role") === "tab" ? "aria-selected" : "aria-checked";
  const set = (value) => {
    for (const one of buttons()) {
      const mine = one.dataset[name] === String(value);
      one.setAttribute(attribute(one), String(mine));
      one.tabIndex = mine ? 0 : -1;
    }
  };
  const pick = (button) => { set(button.dataset[name]); chosen(button.dataset[name]); };
  group.addEventListener("click", (event) => {
    const button = event.target.closest("[role=radio], [role=tab]");
    if (button) pick(button);
  });
  group.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], all = buttons(), at = all.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = all[(at + step + all.length) % all.length];
    next.focus();
    pick(next);
  });
  set(buttons().find((one) => one.getAttribute(attribute(one)) === "true")?.dataset[name]);
  return set;
}

// Buttons of which each is on or off. `entries` have an id, a title and a brief name; `shown` is the set of those that are on.
export function toggles(group, entries, shown, changed) {
  group.replaceChildren(...entries.map(({ id, title, brief }) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", title, textContent: brief });
    button.setAttribute("aria-pressed", String(shown.has(id)));
    button.onclick = () => {
      const on = !shown.has(id);
      button.setAttribute("aria-pressed", String(on));
      shown[on ? "add" : "delete"](id);
      changed();
    };
    return button;
  }));
}
