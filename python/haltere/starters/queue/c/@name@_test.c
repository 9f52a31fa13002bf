/* Tests of `@name@` on this machine: a test writes an event, calls its function, and reads the answer. */
#include "@name@.c"
#include <assert.h>
#include <stdio.h>

/* What the queue asked for. */
static i64 dropped, marked;
void haltere_drop(i64 id, int reason) { dropped = dropped * 10 + id; }
int haltere_mark(i64 id, int reason) { return marked = marked * 10 + id, 1; }

int main(void)
{
    parameters[0] = 3;
    parameters[1] = 2;
    start();
    for (event.enqueue.id = 1; event.enqueue.id <= 5; event.enqueue.id++)
        enqueue();
    assert(marked == 3 && dropped == 45); /* marked above the threshold, dropped at the limit */
    for (int id = 1; id <= 3; id++) {
        dequeue();
        assert(out.answer.next == id); /* packets leave in order */
    }
    dequeue();
    assert(out.answer.next == -1);
    puts("passed");
}
