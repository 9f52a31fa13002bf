// The queue discipline `@name@`: first in, first out, with a limit and a threshold for ECN marks. Change this file; `haltere.ts` is the interface.

import { ANSWER, EVENT, Enqueue, QueueAnswer, drop, encoded, mark, parameter, setState } from "./haltere";
export { haltere_abi, haltere_answer, haltere_event, haltere_params } from "./haltere";

const ABOUT = `{
  "kind": "queue",
  "summary": "First in, first out: packets are marked above a threshold, and dropped at the limit.",
  "parameters": [
    { "name": "limit", "format": "integer", "default": 1000, "minimum": 1, "maximum": 16384,
      "meaning": "The most packets that wait." },
    { "name": "threshold", "format": "integer", "default": 0, "minimum": 0, "maximum": 16384,
      "meaning": "Packets that wait when marks begin; 0: there are none." }
  ],
  "state": [{ "name": "marks", "unit": "packets" }]
}`;

export function haltere_about(): usize {
  return encoded(ABOUT);
}

// The numbers of the packets that wait: `count` from `first` on, in a ring.
const ROOM = 16384;
const RING: usize = memory.data(131072, 8);
let first = 0;
let count = 0;
let marks = 0;

export function start(): void {
  const out = changetype<QueueAnswer>(ANSWER);
  out.next = -1;
  out.next_timer = -1;
  out.ready_at = -1;
}

export function enqueue(): void {
  const packet = changetype<Enqueue>(EVENT);
  const limit = <i32>parameter(0);
  const threshold = <i32>parameter(1);
  if (count >= limit) {
    drop(packet.id, 0);
    return;
  }
  if (threshold > 0 && count >= threshold && mark(packet.id, 1)) {
    marks += 1;
    setState(0, <f64>marks);
  }
  store<i64>(RING + (<usize>((first + count) % ROOM) << 3), packet.id);
  count += 1;
}

export function dequeue(): void {
  const out = changetype<QueueAnswer>(ANSWER);
  out.next = -1;
  if (count > 0) {
    out.next = load<i64>(RING + (<usize>first << 3));
    first = (first + 1) % ROOM;
    count -= 1;
  }
}
