"""Where two trees of YAML differ."""


def differences(ours, theirs, path="", names=("generate", "kustomize")):
    """A line for each place; the trees are called by `names`."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [one for key in sorted(ours.keys() | theirs.keys())
                for one in differences(ours.get(key), theirs.get(key), f"{path}.{key}", names)]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [one for i, (a, b) in enumerate(zip(ours, theirs)) for one in differences(a, b, f"{path}[{i}]", names)]
    same = type(ours) is type(theirs) and ours == theirs
    return [] if same else [f"{path}: {names[0]} {ours!r}, {names[1]} {theirs!r}"]
