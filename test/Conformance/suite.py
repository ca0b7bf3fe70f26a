"""What the node tests must come to: the floor, and the groups of which every case passes."""
import re

# The newest operator set that the project promises; newer cases may be refused.
NEWEST_OPSET = 23
# Passed cases; raised whenever more pass, never lowered.
FLOOR = 1523
# Cases of these operators pass unless their opset is above NEWEST_OPSET, their type is exotic, or their shape depends on data.
MUST_PASS = [
    r"Conv$", r"ConvTranspose$", r"conv_", r"convtranspose", r"(Global)?(Average|Max|Lp)Pool$", r"(averagepool|maxpool|lppool|global)",
    r"(Log)?Softmax$", r"(log)?softmax", r"Reduce", r"reduce_", r"Attention$", r"attention_", r"RotaryEmbedding$", r"rotary_embedding",
    r"LayerNormalization$", r"layer_normalization", r"RMSNormalization$", r"rms_normalization",
    r"(Batch|Instance|Group|MeanVariance|Lp)Normalization$", r"(batch|instance|group|l1|l2)norm", r"mvn", r"LRN$", r"lrn", r"group_normalization",
    r"Gather", r"gather", r"NegativeLogLikelihoodLoss$", r"nllloss", r"SoftmaxCrossEntropyLoss$", r"sce_",
]
# Of MUST_PASS, cases that are refused for a named reason, with the reason.
EXCEPTIONS = {}


def tolerances(case, dtype):
    """rtol and atol as ONNX's own runner has them: the case's, and two units in the last place of a bfloat16. Beyond it: two of a
    float16 where ONNX's numbers are those of float16 steps, of which each rounds; and what its numbers themselves miss."""
    rtol, atol = case.rtol, case.atol
    if dtype.name == "bfloat16":
        rtol = max(rtol, 2**-6)
    if dtype.name == "float16" and ("_expanded" in case.name or "attention" in case.name):
        rtol = max(rtol, 2**-9)
    if case.name.startswith("test_dft_inverse"):
        atol = max(atol, 1e-6)  # the expected numbers are a float32 FFT's: 1.9e-7 where the transform is 0
    return rtol, atol


def operator_of(case):
    """The operator that a case is about; of an expanded one, the operator that was expanded."""
    return case.operator if "_expanded" not in case.name else case.name.removeprefix("test_").split("_expanded")[0] + " (expanded)"


def is_excused(outcome):
    return outcome.kind == "refused" and (outcome.category != "unsupported" or outcome.case.name in EXCEPTIONS)


def check(outcomes):
    """What is not as it must be, one line each."""
    problems = []
    passed = sum(outcome.kind == "passed" for outcome in outcomes)
    if passed < FLOOR:
        problems.append(f"{passed} cases passed, at least {FLOOR} must")
    if passed > FLOOR:
        print(f"{passed} cases passed: raise FLOOR in test/Conformance/suite.py from {FLOOR}")
    for outcome in outcomes:
        names = [outcome.case.operator, outcome.case.name.removeprefix("test_")]
        if any(re.match(pattern, name) for pattern in MUST_PASS for name in names):
            if outcome.kind != "passed" and not is_excused(outcome):
                problems.append(f"{outcome.case.name} must pass and is {outcome.kind}: {outcome.message}")
    return problems
