// Makes a program of a tutorial, and what each chapter of it must print.
//
//   extract_chapters <tutorial.md> <folder> <number of chapters>
//
// A chapter begins with a line "## ". Its ```cpp blocks are the body of the function chapter_<n>()
// in chapters.cpp, behind the blocks that precede the first chapter; there, its ```sh blocks become
// calls of the shell. Its ```text blocks are chapter_<n>.txt. `chapters <n>` runs a chapter.
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Chapter {
  std::string code, output;
};

// Chapter 0 is what precedes the first one.
std::vector<Chapter> read_chapters(std::istream& tutorial, const std::string& name) {
  std::vector<Chapter> chapters(1);
  std::string* block = nullptr;  // where lines go; null outside of blocks
  std::string ending;            // of this block
  std::string line;
  for (int number = 1; std::getline(tutorial, line); ++number) {
    if (block != nullptr) {
      if (line == "```") {
        *block += ending;
        block = nullptr;
      } else {
        *block += line + "\n";
      }
    } else if (line == "```cpp") {
      block = &chapters.back().code;
      ending.clear();
      // Compilers, and messages of the library, name the line of the tutorial.
      *block += "#line " + std::to_string(number + 1) + " \"" + name + "\"\n";
    } else if (line == "```sh") {
      block = &chapters.back().code;
      *block += "std::fflush(stdout);\nif (std::system(R\"sh(set -e\n";
      ending = ")sh\") != 0) { return 1; }\n";
    } else if (line == "```text") {
      block = &chapters.back().output;
      ending.clear();
    } else if (line.starts_with("```")) {
      throw std::runtime_error("line " + std::to_string(number) +
                               ": a block must be ```cpp, ```sh or ```text, so that it is tested");
    } else if (line.starts_with("## ")) {
      chapters.emplace_back();
    }
  }
  if (block != nullptr) {
    throw std::runtime_error("the last block is not closed");
  }
  return chapters;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) {
    throw std::runtime_error("cannot write " + path);
  }
}

void extract(const std::string& path, const std::string& folder, std::size_t wanted) {
  std::ifstream tutorial(path);
  if (!tutorial) {
    throw std::runtime_error("cannot read it");
  }
  const std::vector<Chapter> chapters =
      read_chapters(tutorial, path.substr(path.find_last_of('/') + 1));
  if (chapters.size() != wanted + 1) {
    throw std::runtime_error(std::to_string(chapters.size() - 1) + " chapters, but " +
                             std::to_string(wanted) + " are tested");
  }
  std::string functions = "#include <cstdio>\n#include <cstdlib>\n" + chapters[0].code, calls;
  for (std::size_t i = 1; i < chapters.size(); ++i) {
    const std::string name = "chapter_" + std::to_string(i);
    functions += "static int " + name + "() {\n" + chapters[i].code + "return 0;\n}\n";
    calls += "  case " + std::to_string(i) + ": return " + name + "();\n";
    write(folder + "/" + name + ".txt", chapters[i].output);
  }
  write(folder + "/chapters.cpp", functions +
                                      "int main(int argc, char** argv) {\n"
                                      "  switch (argc == 2 ? std::atoi(argv[1]) : 0) {\n" +
                                      calls + "  default: return 2;\n  }\n}\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) {
      throw std::runtime_error("takes a tutorial, a folder and a number of chapters");
    }
    extract(argv[1], argv[2], std::stoul(argv[3]));
  } catch (const std::exception& error) {
    std::cerr << "extract_chapters: " << (argc > 1 ? argv[1] : "") << ": " << error.what() << "\n";
    return 1;
  }
}
