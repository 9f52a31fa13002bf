// Links to a set-up: the dialog that gives one and opens another, and the page's own address.

import { address, decode, encode } from "./share.js";

const $ = (id) => document.getElementById(id);

export class Links {
  // `setups` gives what is on the page; `ask` sends the set-ups of a link to the program, which looks at them; `refuse` says why a link
  // that was in the address is not opened.
  constructor({ setups, ask, refuse }) {
    Object.assign(this, { setups, ask, refuse, opening: false });
    $("share").onclick = () => this.show();
    $("copy").onclick = () => this.copy();
    $("open").onclick = () => this.pasted();
    $("paste").onkeydown = (event) => { if (event.key === "Enter") { event.preventDefault(); this.pasted(); } };
    window.addEventListener("hashchange", () => this.open(location.hash));
  }

  async show() {
    $("link").value = address(await encode(this.setups()));
    $("link-error").textContent = $("paste").value = "";
    $("copy").textContent = "Copy";
    $("sharing").showModal();
    $("link").select();
  }

  async copy() {
    $("link").select();
    try { await navigator.clipboard.writeText($("link").value); } catch { document.execCommand("copy"); }
    $("copy").textContent = "Copied";
  }

  async pasted() {
    $("link-error").textContent = "";
    if (!await this.open($("paste").value.trim())) this.refused("link: setup must be given after `#setup=`, got nothing");
  }

  // Opens the set-ups of a link. False if it has none.
  async open(text) {
    try {
      const setups = await decode(text);
      if (setups) { this.opening = true; this.ask(setups); }
      return setups != null;
    } catch (error) {
      this.refused(error.message);
      return true;
    }
  }

  opened() {
    this.opening = false;
    $("sharing").close();
  }

  refused(text) {
    this.opening = false;
    const said = text.startsWith("link: ") ? text : `link: ${text}`;
    if ($("sharing").open) $("link-error").textContent = said;
    else this.refuse(said);
  }

  // The page's own address has the set-ups, too.
  async keep() { window.history.replaceState(null, "", `#${await encode(this.setups())}`); }
}
