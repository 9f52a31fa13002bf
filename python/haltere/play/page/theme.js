// Light or dark: as the system has it, until the user chooses.

const KEY = "haltere-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
let kept = null;

// `changed` is called after each change of colours.
export function theme(button, changed) {
  const set = (name) => { document.documentElement.dataset.theme = name; changed(); };
  const system = () => { if (!kept) set(dark.matches ? "dark" : "light"); };
  try { kept = localStorage.getItem(KEY); } catch { /* as the system has it */ }
  button.onclick = () => {
    kept = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    set(kept);
    try { localStorage.setItem(KEY, kept); } catch { /* it is only forgotten */ }
  };
  dark.addEventListener("change", system);
  if (kept) set(kept); else system();
}
