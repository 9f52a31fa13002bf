// Messages to and from the program, over a WebSocket.

let socket = null;

export const say = (message) => { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };

// `hear` has a function for each kind of message; `gone` is called when the program has ended.
export function connect(hear, gone) {
  const token = new URLSearchParams(location.search).get("token") ?? "";
  socket = new WebSocket(`ws://${location.host}/ws?token=${encodeURIComponent(token)}`);
  socket.onmessage = (event) => { const told = JSON.parse(event.data); hear[told.tell]?.(told); };
  socket.onclose = gone;
}
