#include <gtest/gtest.h>

#include "base/text.h"
#include "list/draft.h"

namespace prefetch::list::foreign_lists_test {
namespace {

struct ForeignCase {
  std::string name, text;
  std::string expect;  // "LINE image " for each, or what is wrong
};

std::string Object(const std::string& type, const std::string& rest) {
  const std::size_t slash = type.rfind('/');
  return "apiVersion: " + type.substr(0, slash) + "\nkind: " + type.substr(slash + 1) + "\n" + rest + "\n";
}

TEST(ForeignTest, IsRead) {
  const ForeignCase rows[] = {
      {"ImageCache",
       Object("kubefledged.io/v1alpha2/ImageCache",
              "spec: {cacheSpec: [{images: [q.io/a:1, q.io/b:2]}, {images: [q.io/c:3], nodeSelector: {t: "
              "b}}], imagePullSecrets: [{name: s}]}"),
       "3 q.io/a:1 3 q.io/b:2 3 q.io/c:3 "},
      {"ImagePullJob", Object("apps.kruise.io/v1alpha1/ImagePullJob", "spec: {image: 'q.io/a:1'}"),
       "3 q.io/a:1 "},
      {"ImageListPullJob",
       Object("apps.kruise.io/v1beta1/ImageListPullJob", "spec: {images: ['q.io/a:1', 'q.io/b:1']}"),
       "3 q.io/a:1 3 q.io/b:1 "},
      {"NodeImage",
       Object("apps.kruise.io/v1alpha1/NodeImage",
              "spec: {images: {q.io/a: {tags: [{tag: v1}, {tag: v2}]}}}"),
       "3 q.io/a:v1 3 q.io/a:v2 "},
      {"PinnedImageSet",
       Object("machineconfiguration.openshift.io/v1/PinnedImageSet",
              "spec: {pinnedImages: [{name: 'q.io/a:1'}]}"),
       "3 q.io/a:1 "},
      {"KnativeImage", Object("caching.internal.knative.dev/v1alpha1/Image", "spec: {image: 'q.io/q:1'}"),
       "3 q.io/q:1 "},
      {"KubernetesImagePuller",
       Object("che.eclipse.org/v1alpha1/KubernetesImagePuller", "spec: {images: 'a=q.io/a:1;b=q.io/b:1'}"),
       "3 q.io/a:1 3 q.io/b:1 "},
      {"ImagesOfAPuller", Object("v1/ConfigMap", "data: {IMAGES: 'a=q.io/a:1;b=q.io/b:1;'}"),
       "3 q.io/a:1 3 q.io/b:1 "},
      {"ImageSetConfiguration",
       Object("mirror.openshift.io/v2alpha1/ImageSetConfiguration",
              "mirror: {additionalImages: [{name: 'q.io/a:1'}], operators: [{catalog: 'q.io/c:1'}]}"),
       "3 q.io/a:1 3 q.io/c:1 "},
      {"ComposeFile", "services:\n  web: {image: 'q.io/w:1'}\n  own: {build: .}\n", "2 q.io/w:1 "},
      {"Kubeadm", "registry.k8s.io/kube-apiserver:v1.33.1\nregistry.k8s.io/coredns/coredns:v1.12.0\n",
       "1 registry.k8s.io/kube-apiserver:v1.33.1 2 registry.k8s.io/coredns/coredns:v1.12.0 "},
      {"CrictlTable",
       "IMAGE                TAG      IMAGE ID       SIZE\nq.io/a               v1       0123456789abc  "
       "5MB\nq.io/b               <none>   0123456789abc  5MB\n",
       "2 q.io/a:v1 "},
      {"CrictlJson", R"({"images":[{"repoTags":["q.io/a:v1"]}]})", "1 q.io/a:v1 "},
      {"Manifests", Object("v1/Pod", "spec: {}"), "manifests"},
      {"AHelmRelease",
       "---\n# Source: shop/templates/serviceaccount.yaml\napiVersion: v1\nkind: ServiceAccount\n"
       "metadata: {name: shop}\n---\n# Source: shop/templates/nothing.yaml\n---\n"
       "# Source: shop/templates/web.yaml\n" +
           Object("apps/v1/Deployment", "spec: {template: {spec: {containers: [{image: a}]}}}"),
       "manifests"},
      {"LongerThanAnyList", "apiVersion: v1\n" + std::string(10 << 20, '#'), "manifests"},
      {"NoName", Object("apps.kruise.io/v1alpha1/ImagePullJob", "spec: {image: 'q.io/A:1'}"),
       "x:3:15: image name \"q.io/A:1\": path must be lowercase"},
      {"Nothing", "# none\n", "x: no image was found in it"},
  };
  for (const ForeignCase& row : rows) {
    SCOPED_TRACE(row.name);
    doc::Problems problems("x");
    const auto images = ReadForeignList(row.text, problems);
    std::string found = images ? "" : "manifests";
    for (const ForeignImage& image : images.value_or(std::vector<ForeignImage>())) {
      found += std::to_string(image.at.line) + " " + image.reference.written() + " ";
    }
    EXPECT_EQ(found + base::Join(problems.Lines(), "|"), row.expect);
  }
}

}  // namespace
}  // namespace prefetch::list::foreign_lists_test
