#include "rig/layer_blob.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/sha256.h"

namespace prefetch::rig {
namespace {

constexpr std::size_t kTarBlock = 512;
constexpr std::size_t kStored = 65'535;  // the most that a stored block of deflate holds (RFC 1951, 3.2.4)

// splitmix64: short, fast, and no zip finds a pattern in it.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 0x2545F4914F6CDD1DULL + 1) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// Fills `digits` characters with `value`, zeros in front, as tar wants its numbers.
void WriteOctal(char* field, int digits, std::uint64_t value) {
  for (int i = digits - 1; i >= 0; --i, value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
}

constexpr std::uint64_t kFrame = 3 * kTarBlock;  // header and the two blocks at the end

// A tar (POSIX ustar) with room for one regular file of `size` bytes, a multiple of a block. Up to 8 GiB.
std::string EmptyTar(const std::string& name, const char* mode, std::uint64_t size, std::uint64_t room) {
  std::string tar(kFrame + room, '\0');
  char* header = tar.data();
  std::snprintf(header, 100, "%s", name.c_str());
  std::memcpy(header + 100, mode, 8);
  std::memcpy(header + 108,
              "0000000\0"
              "0000000\0",
              16);
  WriteOctal(header + 124, 11, size);
  std::memcpy(header + 136, "00000000000", 11);
  std::memset(header + 148, ' ', 8);
  header[156] = '0';
  std::memcpy(header + 257,
              "ustar\0"
              "00",
              8);
  unsigned sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) sum += static_cast<unsigned char>(header[i]);
  WriteOctal(header + 148, 6, sum);
  header[154] = '\0';
  return tar;
}

std::string ProgramTar(const std::string& program) {
  const std::uint64_t room = (program.size() + kTarBlock - 1) / kTarBlock * kTarBlock;
  std::string tar = EmptyTar("program", "0000755", program.size(), room);
  std::memcpy(tar.data() + kTarBlock, program.data(), program.size());
  return tar;
}

std::string MakeTar(const Layer& layer) {
  if (!layer.program.empty()) return ProgramTar(layer.program);
  std::uint64_t size = layer.size > kFrame + kTarBlock ? layer.size - kFrame : kTarBlock;
  size -= size % kTarBlock;
  const std::uint64_t noise_size = size;
  size += layer.zeros - layer.zeros % kTarBlock;
  char name[64];
  std::snprintf(name, sizeof(name), "data/%016llx-%llu", static_cast<unsigned long long>(layer.seed),
                static_cast<unsigned long long>(size));
  std::string tar = EmptyTar(name, "0000644", size, size);
  Noise noise(layer.seed);
  for (std::uint64_t at = 0; at < noise_size; at += sizeof(std::uint64_t)) {
    std::uint64_t word = noise.Next();
    std::memcpy(tar.data() + kTarBlock + at, &word, sizeof(word));
  }
  return tar;
}

void AppendLittleEndian(std::string& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

// gzip without compression (RFC 1952): the content cannot be compressed, and this takes no time.
std::string Gzip(const std::string& tar) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  out.reserve(tar.size() + tar.size() / kStored * 5 + 64);
  for (std::size_t at = 0; at < tar.size(); at += kStored) {
    std::size_t n = std::min(kStored, tar.size() - at);
    out += at + n == tar.size() ? '\1' : '\0';
    AppendLittleEndian(out, static_cast<std::uint32_t>(n), 2);
    AppendLittleEndian(out, static_cast<std::uint32_t>(~n), 2);
    out.append(tar, at, n);
  }
  auto crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(tar.data()), tar.size());
  AppendLittleEndian(out, static_cast<std::uint32_t>(crc), 4);
  AppendLittleEndian(out, static_cast<std::uint32_t>(tar.size()), 4);
  return out;
}

// gzip that compresses.
std::string Deflated(std::string& tar) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // zlib.h, deflateInit2
  std::string out;
  if (::deflateInit2(&stream, 1, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) return out;
  out.resize(::deflateBound(&stream, tar.size()));
  stream.next_in = reinterpret_cast<Bytef*>(tar.data());
  stream.avail_in = static_cast<uInt>(tar.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

}  // namespace

std::string DigestOf(std::string_view bytes) {
  return "sha256:" + base::Sha256Hex(bytes);
}

LayerBlob MakeLayer(const Layer& layer) {
  std::string tar = MakeTar(layer);
  LayerBlob blob;
  blob.diff_id = DigestOf(tar);
  blob.bytes = layer.zeros == 0 ? Gzip(tar) : Deflated(tar);
  blob.digest = DigestOf(blob.bytes);
  return blob;
}

}  // namespace prefetch::rig
