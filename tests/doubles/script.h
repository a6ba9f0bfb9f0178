/* tests/doubles/script.h: the scenario of a test: the text file that CRESSET_DOUBLE names, one statement a line, words apart by blanks, "…" for a
 * word with blanks in it, # begins a comment. Each double reads the statements it knows and skips all others. */
#ifndef CRESSET_DOUBLES_SCRIPT_H
#define CRESSET_DOUBLES_SCRIPT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_WORDS = 16, SCRIPT_LINE = 1024 };

/* The words of one line, cut in place. Returns how many. */
static inline int script_words(char *line, char *words[SCRIPT_WORDS])
{
	int n = 0;

	while (n < SCRIPT_WORDS) {
		line += strspn(line, " \t\n");
		if (!*line || *line == '#')
			break;
		const char *end = *line == '"' ? "\"\n" : " \t\n";
		line += *line == '"';
		words[n++] = line;
		line += strcspn(line, end);
		if (!*line)
			break;
		*line++ = 0;
	}
	return n;
}

/* Calls statement for each line that has words. */
static inline void script_read(void (*statement)(int n, char **words))
{
	const char *path = getenv("CRESSET_DOUBLE");
	FILE *f = path ? fopen(path, "re") : NULL;
	char line[SCRIPT_LINE], *words[SCRIPT_WORDS];

	while (f && fgets(line, sizeof line, f)) {
		int n = script_words(line, words);

		if (n)
			statement(n, words);
	}
	if (f)
		fclose(f);
}

/* The number behind a word of the line; otherwise without it. */
static inline uint64_t script_number(int n, char **words, const char *key, uint64_t otherwise)
{
	for (int i = 1; i + 1 < n; i++)
		if (strcmp(words[i], key) == 0)
			return strtoull(words[i + 1], NULL, 0);
	return otherwise;
}

#endif
