/* A program in C++ with a single thread that allocates all the time (allocates.h): strings, a vector and a map of them, and exceptions. */
#include "allocates.h"

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static std::map<unsigned, std::vector<std::string>> all;
static unsigned seed = 7;

static unsigned next()
{
	return (seed = seed * 1103515245 + 12345) >> 16;
}

static std::string text_of(unsigned key)
{
	return std::string(20 + key % 100, (char)('a' + key % 26));
}

static void check(unsigned key)
{
	for (const std::string &s : all[key])
		if (s != text_of(key))
			throw std::runtime_error("a string has changed, of " + std::to_string(key));
}

static void work()
{
	for (int i = 0; i < 100; i++) {
		unsigned key = next() % 64;
		try {
			check(key);
			if (key == 1)
				throw std::out_of_range("once in a while");
		} catch (const std::out_of_range &) {
			all.erase(key);
		} catch (const std::exception &) {
			allocates_wrong = "a string has changed";
		}
		auto &of = all[key];
		of.push_back(text_of(key));
		auto copy = std::make_unique<std::vector<std::string>>(of);
		if (of.size() > 20)
			of = { copy->back() };
	}
}

int main()
{
	return allocates_run(work);
}
