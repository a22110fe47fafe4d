// The table of the agent's endpoints, for the reference.
#pragma once

#include <span>

namespace prefetch::reference {

struct EndpointRow {
  const char* method;
  const char* path;  // "/readyz"
  const char* parameters;
  const char* answer;
  const char* audience;
};
std::span<const EndpointRow> EndpointRows();

}  // namespace prefetch::reference
