#include "doc/json_items.h"

#include <algorithm>

namespace prefetch::doc {
namespace {

// Returns how many leading bytes are plain in a string: they neither end it nor escape anything.
std::size_t PlainIn(std::string_view bytes) {
  std::size_t count = 0;
  while (count < bytes.size() && bytes[count] >= ' ' && bytes[count] != '"' && bytes[count] != '\\') count++;
  return count;
}

bool IsBlank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

}  // namespace

void JsonItems::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    // Most bytes are plain ones in strings, so these are copied in one step.
    const std::size_t plain = in_string_ && !escaped_ && in_item_ ? PlainIn(bytes) : 0;
    if (plain == 0) {
      Byte(bytes.front());
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t room = most_bytes_ - std::min(item_.size(), most_bytes_);
    // Bytes beyond the limit are dropped and noted; the structure is followed to the end.
    cut_ = cut_ || plain > room;
    item_.append(bytes.substr(0, std::min(plain, room)));
    here_.column += static_cast<std::uint32_t>(plain);
    bytes.remove_prefix(plain);
  }
}

void JsonItems::Keep(std::string& text, char c) {
  if (text.size() == most_bytes_) {
    cut_ = true;
  } else {
    text += c;
  }
}

void JsonItems::Byte(char c) {
  if (in_string_) {
    Keep(in_item_ ? item_ : rest_, c);
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      after_items_ = in_key_ && key_ == "items";
      in_key_ = false;
      if (in_item_ && depth_ == items_depth_) End();
    }
    if (in_key_ && key_.size() < 8) key_ += c;
  } else {
    Structure(c);
  }
  if (c == '\n') {
    if (in_item_) Keep(rest_, c);  // Keeps the line numbers of the rest equal to those of the document.
    here_ = {here_.line + 1, 1};
  } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
    here_.column++;
  }
}

void JsonItems::Begin(char c) {
  in_item_ = true;
  item_at_ = here_;
  // A placeholder keeps the rest valid JSON.
  Keep(rest_, '0');
  Keep(item_, c);
}

void JsonItems::End() {
  in_item_ = false;
  take_(item_, item_at_);
  item_.clear();
}

void JsonItems::Structure(char c) {
  const bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
  // Only the next byte ends a number or a word.
  if (in_item_ && depth_ == items_depth_ && (closes || c == ',' || IsBlank(c))) End();
  if (closes) {
    if (depth_ > 0) depth_--;
    Keep(in_item_ ? item_ : rest_, c);
    if (in_item_ && depth_ == items_depth_) End();
    if (!in_item_ && items_depth_ > 0 && depth_ < items_depth_) items_depth_ = 0;
    return;
  }
  if (items_depth_ > 0 && depth_ == items_depth_ && !in_item_ && !IsBlank(c) && c != ',') {
    Begin(c);
  } else {
    Keep(in_item_ ? item_ : rest_, c);
  }
  if (opens) {
    // The list is the value of the top-level `items`, or the document itself.
    const bool list = c == '[' && items_depth_ == 0 && ((depth_ == 1 && after_items_) || depth_ == 0);
    depth_++;
    if (list) items_depth_ = depth_;
    seen_items_ = seen_items_ || list;
  }
  if (c == '"') {
    in_string_ = true;
    in_key_ = depth_ == 1 && items_depth_ == 0;
    key_.clear();
  }
  if (c != ':' && !IsBlank(c)) after_items_ = false;
}

}  // namespace prefetch::doc
