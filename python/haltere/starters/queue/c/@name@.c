/* The queue discipline `@name@`: first in, first out, with a limit and a threshold for ECN marks. Change this file; haltere.h is the interface. */
#define HALTERE_QUEUE
#include "haltere.h"

ABOUT({
    "kind": "queue",
    "summary": "First in, first out: packets are marked above a threshold, and dropped at the limit.",
    "parameters": [
        { "name": "limit", "format": "integer", "default": 1000, "minimum": 1, "maximum": 16384,
          "meaning": "The most packets that wait." },
        { "name": "threshold", "format": "integer", "default": 0, "minimum": 0, "maximum": 16384,
          "meaning": "Packets that wait when marks begin; 0: there are none." }
    ],
    "state": [{ "name": "marks", "unit": "packets" }]
})

/* The numbers of the packets that wait: `count` from `first` on, in a ring. */
#define ROOM 16384
static i64 ring[ROOM];
static unsigned first, count;

EXPORT(start) void start(void) { first = count = 0; }

EXPORT(enqueue) void enqueue(void)
{
    i64 id = event.enqueue.id;
    unsigned limit = parameters[0], threshold = parameters[1];
    if (count >= limit) {
        haltere_drop(id, 0);
        return;
    }
    if (threshold && count >= threshold && haltere_mark(id, 1))
        out.state[0] += 1;
    ring[(first + count++) % ROOM] = id;
}

EXPORT(dequeue) void dequeue(void)
{
    out.answer.next = -1;
    if (count) {
        out.answer.next = ring[first];
        first = (first + 1) % ROOM;
        count -= 1;
    }
}
