// SPDX-License-Identifier: GPL-2.0-or-later
//
// Containers and strings as C++ programs use them, in one thread: stress ROUNDS
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

struct record {
	std::string name;
	std::vector<uint32_t> values;
	std::unique_ptr<record> next;
};

uint32_t random_number(uint32_t &state)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

std::unique_ptr<record> make_record(uint32_t &state, int depth)
{
	auto made = std::make_unique<record>();

	made->name = "a record with a name longer than a short string " + std::to_string(state);
	for (uint32_t i = random_number(state) % 12; i > 0; i--)
		made->values.push_back(random_number(state));
	if (depth > 0)
		made->next = make_record(state, depth - 1);
	return made;
}

/* Work that allocates little: a program is not its allocator alone. */
size_t digest(const std::map<uint32_t, std::string> &ordered)
{
	std::vector<uint32_t> keys;
	size_t hash = 5381;

	for (int pass = 0; pass < 30; pass++) {
		keys.clear();
		for (const auto &[key, text] : ordered) {
			keys.push_back(key * 2654435761U + static_cast<uint32_t>(pass));
			for (char c : text)
				hash = hash * 33 + static_cast<unsigned char>(c);
		}
		std::sort(keys.begin(), keys.end());
		hash += keys[keys.size() / 2];
	}
	return hash;
}

size_t one_round(uint32_t &state)
{
	std::map<uint32_t, std::string> ordered;
	std::unordered_map<std::string, std::unique_ptr<record>> by_name;
	std::list<std::vector<char>> buffers;
	size_t sum = 0;

	for (int i = 0; i < 300; i++) {
		uint32_t n = random_number(state);

		ordered[n] = std::string(20 + n % 100, 'x');
		by_name["the key of record number " + std::to_string(n % 200)] =
			make_record(state, static_cast<int>(n % 4));
		buffers.emplace_back(n % 3000);
		if (buffers.size() > 50)
			buffers.pop_front();
	}
	for (const auto &[name, held] : by_name)
		sum += name.size() + held->values.size();
	return sum + ordered.size() + digest(ordered);
}

} // namespace

int main(int argc, char **argv)
{
	uint32_t state = 12345;
	size_t sum = 0;

	for (long rounds = argc > 1 ? std::atol(argv[1]) : 0; rounds > 0; rounds--)
		sum += one_round(state);
	return sum == 0;
}
