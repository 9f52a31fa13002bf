// Messages to and from the kernel of a notebook, by the cell that has this page in a frame.

export const say = (message) => parent.postMessage(message, "*");

export function connect(hear) {
  window.addEventListener("message", ({ source, data }) => { if (source === parent) hear[data.tell]?.(data); });
  say({ do: "hello" });
}
