/* agent/control.h: what the supervisor and its two processes say to each other: one byte, to a process also with a new end of the stream
 * between the two. Ends when either side is gone. */
#ifndef CRESSET_AGENT_CONTROL_H
#define CRESSET_AGENT_CONTROL_H

enum control {
	CONTROL_GONE = 0,
	CONTROL_NOTHING,
	CONTROL_STREAM, /* to a process: the other one is there */
	CONTROL_STOP,   /* to a process: finish what is begun, and end */
	CONTROL_READY,  /* from a process */
	CONTROL_TOKEN,  /* to the sending process: a file with a token, open for reading */
};

/* 0, or -errno. */
int control_pair(int fds[2]);
int control_send(int fd, enum control what, int passed_fd);
/* Does not wait. *passed_fd is the caller's with CONTROL_STREAM and CONTROL_TOKEN. */
enum control control_receive(int fd, int *passed_fd);

#endif
