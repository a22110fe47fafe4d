// TCP ports on loopback.
#pragma once

#include "base/fs.h"
#include "base/result.h"

namespace prefetch::rig {

// A port of 127.0.0.1 that nobody listens on, below the range from which the kernel takes ports for
// outgoing connections, and that no other test takes while this process lives: so a server that is stopped
// finds its port free when it is started again, and in the meantime nobody else answers there.
base::Result<int> FreePort();

// A listening, non-blocking socket on 127.0.0.1:`port`.
base::Result<base::Fd> Listen(int port);

// A non-blocking socket that connects, or has failed to, to 127.0.0.1:`port`.
base::Fd Connect(int port);

// Does anybody accept connections there?
bool SomebodyListens(int port);

}  // namespace prefetch::rig
