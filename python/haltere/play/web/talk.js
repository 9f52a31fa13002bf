// Messages to and from a session in a worker: what page/talk.js is for a page without a server.

import { compiled } from "./pool.js";

const thread = new Worker(URL.createObjectURL(new Blob([document.getElementById("worker").textContent], { type: "text/javascript" })));

export const say = (message) => thread.postMessage(message);

// `hear` has a function for each kind of message; `gone` is called if the simulator cannot be had.
export function connect(hear, gone) {
  thread.onmessage = ({ data }) => hear[data.tell]?.(data);
  thread.onerror = gone;
  compiled().then((module) => say({ module, hello: JSON.parse(document.getElementById("hello").textContent) }), gone);
}
