/* Runs every file of the directories or files given as arguments through a fuzz target once: the corpus as a plain test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		return -1;
	fseek(f, 0, SEEK_END);
	long size = ftell(f);
	rewind(f);
	uint8_t *data = malloc(size > 0 ? size : 1);
	size_t got = fread(data, 1, size > 0 ? size : 0, f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, got);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int done = 0;
	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		if (!dir) {
			done += replay_file(argv[i]) == 0;
			continue;
		}
		for (struct dirent *e; (e = readdir(dir));) {
			char path[4096];
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
			done += replay_file(path) == 0;
		}
		closedir(dir);
	}
	printf("%d inputs\n", done);
	return done ? 0 : 1;
}
