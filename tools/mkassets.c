/* mkassets: files → one C header of byte arrays, on standard output.
 *
 *     mkassets web/svg/flame.js …   →   static const char asset_svg_flame_js[] = { …, 0 };
 *                                       static const unsigned asset_svg_flame_js_len = …;
 *
 * The name is the path below web/ with everything but letters and digits as '_'. The arrays end in a NUL that the
 * length does not count. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void put_name(const char *path)
{
	if (strncmp(path, "web/", 4) == 0)
		path += 4;
	for (; *path; path++)
		putchar(isalnum((unsigned char)*path) ? *path : '_');
}

static int put_asset(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f) {
		perror(path);
		return -1;
	}
	unsigned long n = 0;
	printf("__attribute__((unused)) static const char asset_");
	put_name(path);
	printf("[] = {");
	for (int c; (c = getc(f)) != EOF; n++)
		printf("%s%d,", n % 32 ? "" : "\n", (int)(signed char)c);
	printf("\n0};\n__attribute__((unused)) static const unsigned asset_");
	put_name(path);
	printf("_len = %lu;\n", n);
	fclose(f);
	return 0;
}

int main(int argc, char **argv)
{
	int rc = 0;
	puts("/* made by tools/mkassets */");
	for (int i = 1; i < argc; i++)
		rc |= put_asset(argv[i]);
	return rc ? 1 : 0;
}
