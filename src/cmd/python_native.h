/* cmd/python_native.h: what --python-native says, of every command that records. */
#ifndef CRESSET_CMD_PYTHON_NATIVE_H
#define CRESSET_CMD_PYTHON_NATIVE_H

/* By the value of the option: 1 shows the interpreter's own frames. */
extern const char *const python_native_words[];

#endif
