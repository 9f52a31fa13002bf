/* Tests of `@name@` on this machine: a test writes an event, calls its function, and reads the answer. */
#include "@name@.c"
#include <assert.h>
#include <stdio.h>

static void began(void)
{
    event.start = (struct start){ .mss = 1000, .initial_window = 10000 };
    parameters[0] = 0.5;
    credit = carry = 0;
    start();
}

static void acked(i64 segments)
{
    event.ack = (struct ack){ .acked = segments * 1000, .delivered = segments * 1000, .cwnd_limited = 1 };
    on_ack();
}

int main(void)
{
    began();
    for (int i = 0; i < 10; i++)
        acked(1);
    assert(out.answer.cwnd == 20000); /* slow start doubles with each window */

    event.loss = (struct loss){ 0 };
    on_loss();
    assert(out.answer.cwnd == 10000 && out.answer.ssthresh == 10000); /* a loss leaves half */
    for (int i = 0; i < 10; i++)
        acked(1);
    assert(out.answer.cwnd == 11000); /* then each window adds a segment */
    puts("passed");
}
