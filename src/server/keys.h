/* server/keys.h: the last whole batch of each sender, packed as it came, on the disk: server/senders.h says of whom and how many.
 *
 *     DIR/keys/SENDER        32 digits of its id
 *     DIR/keys/SENDER.tmp    is being written
 *
 * They are of one run of the server: the folder is emptied when it is opened. So nothing is synced, and who comes after a restart sends the
 * whole once. */
#ifndef CRESSET_SERVER_KEYS_H
#define CRESSET_SERVER_KEYS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_ID_BYTES = 16 };

/* dir: of the store; its folder keys/ is made. A descriptor, or -errno. */
int keys_open(const char *dir, struct err *err);

/* In two steps: what is slow first, beside the file that is there. False: the disk is full, or broken; nothing is left of it. */
bool key_write(int keys, const uint8_t *id, const struct buf *packed);
bool key_settle(int keys, const uint8_t *id);
void key_forget(int keys, const uint8_t *id); /* one that is not settled */

/* A descriptor, which stays readable when another key takes its place; -1: there is none. */
int key_open(int keys, const uint8_t *id);
void key_remove(int keys, const uint8_t *id);

#endif
