// What a pod would meet that contacts the registry: with imagePullPolicy Always at every start, with
// IfNotPresent where kubelet would pull. What the registry says now decides. Pure; internal to agent/.
#pragma once

#include <string>

#include "credentials/keyring.h"
#include "image/registry_answer.h"
#include "plan/snapshot.h"
#include "status/check_document.h"

namespace prefetch::agent {

// Of these two the registry was asked just now, with this node's credentials.
//
// For Always, which wants the tag to be what is here: a pod that has to wait for a pull is a no.
status::CheckAnswer AlwaysByAnswer(status::CheckAnswer answer, const status::CheckQuestion& question,
                                   const plan::ImageState& image, const image::RegistryAnswer& said);

// For IfNotPresent, which has the pod pull whatever the tag is: `answer` says by kubelet's verdict why. It is
// a yes if the tag is there and access is given.
status::CheckAnswer PullByAnswer(status::CheckAnswer answer, const status::CheckQuestion& question,
                                 const image::RegistryAnswer& said);

// An answer that the same server would give to any question: it is away, or something before it says so.
bool IsSilence(const image::RegistryAnswer& said);
// The asker's time is over before this registry's turn came.
image::RegistryAnswer NoTimeToAsk(const std::string& registry);
// The search for credentials took the time that there was.
image::RegistryAnswer NoCredentialsInTime(const std::string& registry, const credentials::Lookup& lookup);

// Nobody is asked: by what the agent heard last. `asks`: this agent asks registries at all.
status::CheckAnswer AlwaysByWhatIsKnown(status::CheckAnswer answer, const plan::ImageState& image, bool asks);

}  // namespace prefetch::agent
