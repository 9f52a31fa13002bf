/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Haltere: the terminal of a person for whom the network stands. A part of
 * haltere.c, which includes it.
 *
 * A program in the guest reads from it and writes to it. Both wait in the
 * host's kernel, so the guest's clock stops until the person answers.
 *
 * The other end is the descriptor haltere_line=<fd> of the host's process: a
 * stream of messages, each with a letter, four bytes with the length of the
 * text that follows, and the text.
 *   to the person     o  what a program wrote
 *                     r  a program reads: nanoseconds of the run, as a number
 *                     c  the counters of the links, as JSON
 *                     k  the links were changed; why not, if there is a text
 *   from the person   l  a line for the program; without a text its input ends
 *                     c  asks for the counters
 *                     s  JSON of the fabric with other links
 */
#include <linux/termios.h>
#include <os.h>

#define HK_WRITTEN_MAX 65536

struct hk_message {
	u8 kind;
	u32 len;
} __packed;

static int line = -1;
static char *typed;
static u32 typed_len, typed_at;

static int __init set_line(char *text)
{
	return !kstrtoint(text, 10, &line);
}
__setup("haltere_line=", set_line);

static int line_move(int (*move)(int, void *, int), void *at, u32 len)
{
	while (len) {
		int moved = move(line, at, min_t(u32, len, 1 << 20));

		if (moved == -EINTR)
			continue;
		if (moved <= 0)
			return -EPIPE;
		at += moved;
		len -= moved;
	}
	return 0;
}

static int line_write(int fd, void *from, int len)
{
	return os_write_file(fd, from, len);
}

static int line_say(u8 kind, const void *text, u32 len)
{
	struct hk_message head = { kind, len };

	return line_move(line_write, &head, sizeof(head)) ?: line_move(line_write, (void *)text, len);
}

/* The next message and its text, which ends with a 0; NULL: there is no more. */
static char *line_hear(struct hk_message *head)
{
	char *text;

	if (line_move(os_read_file, head, sizeof(*head)) || head->len > HK_TEXT_MAX)
		return NULL;
	text = kvmalloc(head->len + 1, GFP_KERNEL);
	if (text && line_move(os_read_file, text, head->len)) {
		kvfree(text);
		return NULL;
	}
	if (text)
		text[head->len] = 0;
	return text;
}

static int line_counters(void)
{
	const char *text;
	size_t len = 0;

	spin_lock_bh(&lock);
	if (fabric)
		len = hk_now(fabric, ktime_get_ns(), &text);
	spin_unlock_bh(&lock);
	return line_say('c', text, len);
}

static int line_change(const char *text, u32 len)
{
	char why[240] = "";

	spin_lock_bh(&lock);
	if (fabric)
		arm(hk_change(fabric, ktime_get_ns(), text, len, why));
	spin_unlock_bh(&lock);
	return line_say('k', why, strlen(why));
}

/* Asks for the next line and does what the person wants done before it. */
static int line_ask(void)
{
	u64 now = ktime_get_ns();
	char said[24], *text;
	struct hk_message head;
	int error;

	snprintf(said, sizeof(said), "%llu", now > origin_ns ? now - origin_ns : 0);
	error = line_say('r', said, strlen(said));
	while (!error && (text = line_hear(&head))) {
		if (head.kind == 'l') {
			kvfree(typed);
			typed = text;
			typed_at = 0;
			typed_len = head.len;
			return 0;
		}
		error = head.kind == 's' ? line_change(text, head.len) : line_counters();
		kvfree(text);
	}
	return -EPIPE;
}

static ssize_t line_read(struct file *file, char __user *to, size_t len, loff_t *unused)
{
	/* Nobody is there, or the input ends. */
	if (typed_at == typed_len && (line_ask() || !typed_len))
		return 0;
	len = min_t(size_t, len, typed_len - typed_at);
	if (copy_to_user(to, typed + typed_at, len))
		return -EFAULT;
	typed_at += len;
	return len;
}

static ssize_t line_written(struct file *file, const char __user *from, size_t len, loff_t *unused)
{
	char *text;
	int error;

	len = min_t(size_t, len, HK_WRITTEN_MAX);
	text = kvmalloc(len, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	error = copy_from_user(text, from, len) ? -EFAULT : line_say('o', text, len);
	kvfree(text);
	return error ?: len;
}

/* It answers as a terminal does, so that programs write line by line. */
static long line_ioctl(struct file *file, unsigned int what, unsigned long to)
{
	struct termios lines = { .c_iflag = ICRNL, .c_oflag = OPOST | ONLCR, .c_lflag = ICANON | ECHO | ISIG };

	if (what != TCGETS)
		return -ENOTTY;
	return copy_to_user((void __user *)to, &lines, sizeof(lines)) ? -EFAULT : 0;
}

static const struct proc_ops line_files = {
	.proc_read = line_read,
	.proc_write = line_written,
	.proc_ioctl = line_ioctl,
};
