#include "kubelet/node_facts_reader.h"

namespace prefetch::kubelet {

std::vector<UsualConfig> UsualConfigs() {
  return {
      {"/var/lib/kubelet/config.yaml", ""},                                              // kubeadm
      {"/home/kubernetes/kubelet-config.yaml", ""},                                      // GKE
      {"/etc/kubernetes/kubelet/config.json", "/etc/kubernetes/kubelet/config.json.d"},  // EKS
      {"/etc/kubernetes/kubelet/config", ""},                                            // Bottlerocket
      {"/etc/default/kubeletconfig.json", ""},                                           // AKS
      {"/etc/kubernetes/kubelet.yaml", ""},                                              // Talos
      {"/var/lib/microshift/resources/kubelet/config/config.yaml", ""},                  // microshift
      {"/etc/kubernetes/kubelet.conf", "/etc/openshift/kubelet.conf.d"},                 // OpenShift
      {"", "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"},                             // k3s
      {"", "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d"},                            // RKE2
  };
}

}  // namespace prefetch::kubelet
