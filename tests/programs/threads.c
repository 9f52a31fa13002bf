/* Four threads send a megabyte and a half each, and wait for one another before the next round; the server has a thread a connection. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 15
#define BYTES 100000

static pthread_barrier_t round_ends;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sockaddr_in address = { .sin_family = AF_INET };

static int check(int value, const char *what)
{
	if (value < 0) {
		perror(what);
		exit(1);
	}
	return value;
}

static void say(const char *what, long number)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	pthread_mutex_lock(&lock);
	printf("%s %ld at %ld.%09ld\n", what, number, (long)now.tv_sec, now.tv_nsec);
	fflush(stdout);
	pthread_mutex_unlock(&lock);
}

static void *receive(void *line)
{
	char buffer[65536];
	long total = 0, count;

	while ((count = read((int)(long)line, buffer, sizeof(buffer))) > 0)
		total += count;
	say("read", total);
	close((int)(long)line);
	return NULL;
}

static void *transmit(void *number)
{
	static char buffer[BYTES];
	int line = check(socket(AF_INET, SOCK_STREAM, 0), "socket");

	check(connect(line, (struct sockaddr *)&address, sizeof(address)), "connect");
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t sent = 0; sent < sizeof(buffer);)
			sent += check(write(line, buffer + sent, sizeof(buffer) - sent), "write");
		if (pthread_barrier_wait(&round_ends) == PTHREAD_BARRIER_SERIAL_THREAD)
			say("round", round);
	}
	close(line);
	say("ends", (long)number);
	return NULL;
}

int main(int count, char **words)
{
	int one = 1, listener = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
	pthread_t threads[THREADS];

	address.sin_port = htons(5002);
	if (count > 1) {
		inet_aton(words[1], &address.sin_addr);
		pthread_barrier_init(&round_ends, NULL, THREADS);
		for (long i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, transmit, (void *)i);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		return 0;
	}
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	check(bind(listener, (struct sockaddr *)&address, sizeof(address)), "bind");
	check(listen(listener, THREADS), "listen");
	for (;;) {
		long line = check(accept(listener, NULL, NULL), "accept");

		pthread_create(&threads[0], NULL, receive, (void *)line);
		pthread_detach(threads[0]);
	}
}
