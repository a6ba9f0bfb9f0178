/* sass_lines CUBIN < "TEXT SIZE" lines: what NVIDIA's library says of each instruction: "TEXT OFFSET LINE DIR/FILE". No GPU is needed. */
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
	char text[4096];
	unsigned long size;
	if (!f || fseek(f, 0, SEEK_END) < 0)
		return 2;
	long length = ftell(f);
	void *image = malloc(length);
	rewind(f);
	if (fread(image, 1, length, f) != (size_t)length)
		return 2;
	while (scanf("%4095s %lu", text, &size) == 2)
		for (unsigned long at = 0; at < size; at += 16) {
			CUpti_GetSassToSourceCorrelationParams p = {
				.size = sizeof p, .cubin = image, .functionName = text, .cubinSize = length, .pcOffset = at,
			};
			if (cuptiGetSassToSourceCorrelation(&p) != CUPTI_SUCCESS)
				printf("%s %lu 0 -\n", text, at);
			else
				printf("%s %lu %u %s/%s\n", text, at, p.lineNumber, p.dirName, p.fileName);
			free(p.fileName);
			free(p.dirName);
		}
	return 0;
}
