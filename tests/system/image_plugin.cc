// A credential provider that is a program linked against libc, as a node's own are: it answers what stands in
// answer.json beside it.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

int main(int, char** argv) {
  std::string request(std::istreambuf_iterator<char>(std::cin), {});
  std::string self = argv[0];
  std::ifstream answer(self.substr(0, self.rfind('/')) + "/answer.json");
  if (request.find("CredentialProviderRequest") == std::string::npos || !answer) return 1;
  std::cout << answer.rdbuf();
  return 0;
}
