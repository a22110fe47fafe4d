// A machine inside the machine for a real kubelet: namespaces of processes, mounts and networks of its own,
// so that nothing which kubelet, containerd and the pods start, mount or configure outlives the tests.
#pragma once

#include <functional>
#include <string>

namespace prefetch::cluster {

// The address of the node, on the loopback device of the world's own network.
inline constexpr const char* kNodeAddress = "192.0.2.1";
// Where pods find the API server. Nothing forwards to Services here, so it is an address of this device too.
inline constexpr const char* kServiceAddress = "10.96.0.1";

// Runs `body` as a child in a world of its own and returns its exit code. In the world:
//  - TMPDIR is a new folder, removed at the end; /run and /var/log are empty, and what is written to /var/lib
//  stays inside;
//  - the network has 127.0.0.1, kNodeAddress and kServiceAddress, and nothing beyond;
//  - every mount is shared inside the world and unknown outside.
// At the end, on every signal, SIGKILL too, and if `body` dies, all processes of the world are killed, its
// folder and cgroups are removed, and the sysctls that kubelet sets are as before: when RunInWorld returns,
// or seconds after it was killed. Needs root. 2, with a message, if the world cannot be made.
int RunInWorld(const std::function<int()>& body);

// In the world: its first process, as the machine numbers it.
std::string PidOfWorld();

// In the world: the name of the cgroup, below each hierarchy's root, that all pods belong below.
std::string PodCgroup();

}  // namespace prefetch::cluster
