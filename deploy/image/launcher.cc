// Starts a program of a portable folder (deploy/image/portable) with the loader and the libraries of that
// folder: prefetchd by that name, prefetchctl by any other. It is linked statically, since the machine may
// have neither, and needs no /proc.
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__aarch64__)
#define LIBRARIES "/root/usr/lib/aarch64-linux-gnu"
#define LOADER "/ld-linux-aarch64.so.1"
#else
#define LIBRARIES "/root/usr/lib/x86_64-linux-gnu"
#define LOADER "/ld-linux-x86-64.so.2"
#endif

namespace {

constexpr std::size_t kLongest = PATH_MAX + 64;

struct Path {
  char text[kLongest];
};

Path Below(const char* folder, const char* rest) {
  Path path;
  std::snprintf(path.text, sizeof path.text, "%s%s", folder, rest);
  return path;
}

// Stores the folder of this program, and returns the program's own name there, or null. The kernel passes the
// path that was executed; realpath follows links, since kubectl-prefetch may be a link to this program.
const char* FindFolder(char (&folder)[PATH_MAX]) {
  const auto* self = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (self == nullptr || realpath(self, folder) == nullptr) return nullptr;
  char* slash = std::strrchr(folder, '/');
  *slash = '\0';
  return slash + 1;
}

}  // namespace

int main(int argc, char** argv) {
  char folder[PATH_MAX];
  const char* name = FindFolder(folder);
  if (name == nullptr) {
    std::fprintf(stderr, "prefetchctl: its own folder cannot be found: %s; call it by its full path\n",
                 std::strerror(errno));
    return 2;
  }
  Path libraries = Below(folder, LIBRARIES), loader = Below(folder, LIBRARIES LOADER);
  Path program = Below(
      folder, std::strcmp(name, "prefetchd") == 0 ? "/root/usr/bin/prefetchd" : "/root/usr/bin/prefetchctl");
  char argv0[] = "--argv0", library_path[] = "--library-path";
  auto** arguments = static_cast<char**>(std::calloc(static_cast<std::size_t>(argc) + 6, sizeof(char*)));
  if (arguments == nullptr || argc < 1) return 2;
  char* first[] = {loader.text, argv0, argv[0], library_path, libraries.text, program.text};
  std::memcpy(arguments, first, sizeof first);
  for (int i = 1; i < argc; i++) arguments[5 + i] = argv[i];
  execv(loader.text, arguments);
  std::fprintf(stderr, "%s: %s: %s; copy the whole folder\n", name, loader.text, std::strerror(errno));
  return 2;
}
