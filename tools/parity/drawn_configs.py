"""Random config.json files of every family that Headlight reads, in the words of transformers 4 and 5."""

import random

ABSENT = object()
BOOLEANS = [True, False, ABSENT]
FAMILIES = ("gpt2 gpt_neo gpt_neox llama mistral qwen2 qwen3 gemma3_text phi3 stablelm starcoder2 phi gemma "
            "granite smollm3 arcee ernie4_5 helium seed_oss opt olmo olmo2 olmo3 exaone4 gemma2 nanochat "
            "vaultgemma").split()
LEARNED = ("gpt2", "gpt_neo", "opt")
PARTIAL = ("gpt_neox", "phi", "stablelm")
USUAL_HEADS = ("gpt2", "gpt_neo", "gpt_neox", "opt", "stablelm")
LAYER_TYPES = ("mistral", "qwen2", "qwen3", "smollm3", "exaone4", "gemma2", "gemma3_text", "olmo3", "vaultgemma")
# Families, key, values.
ROWS = [
    ("llama qwen3 gemma gemma2 gemma3_text granite smollm3 arcee helium seed_oss olmo olmo2 olmo3 nanochat "
     "gpt_neox vaultgemma", "attention_bias", BOOLEANS),
    ("llama granite smollm3 arcee helium seed_oss", "mlp_bias", BOOLEANS),
    ("seed_oss", "attention_out_bias", BOOLEANS),
    ("starcoder2 ernie4_5", "use_bias", BOOLEANS),
    ("stablelm", "use_qkv_bias", BOOLEANS),
    ("stablelm gpt_neox", "use_parallel_residual", BOOLEANS),
    ("phi", "qk_layernorm", BOOLEANS),
    ("olmo", "clip_qkv", [None, 0.5, ABSENT]),
    ("gemma2 vaultgemma", "attn_logit_softcapping", [None, 0.8, ABSENT]),
    ("gemma2 nanochat vaultgemma", "final_logit_softcapping", [None, 1.5, ABSENT]),
    ("gemma2 gemma3_text vaultgemma", "query_pre_attn_scalar", [7, 40, ABSENT]),
    ("granite", "embedding_multiplier", [1.0, 12.0, ABSENT]),
    ("granite", "residual_multiplier", [0.25, 1.5, ABSENT]),
    ("granite", "attention_multiplier", [0.1, 0.5, ABSENT]),
    ("granite", "logits_scaling", [8.0, 0.7, ABSENT]),
    ("phi3 starcoder2", "sliding_window", [None, 5, ABSENT]),
    ("llama mistral granite exaone4 smollm3", "hidden_act", ["silu", "gelu", ABSENT]),
    ("gpt2 gpt_neo opt", "activation_function", ["gelu_new", "relu", "gelu", ABSENT]),
    ("gpt2 gpt_neo llama stablelm qwen2", "is_causal", [True, ABSENT]),
    ("gemma gemma2 gemma3_text", "use_bidirectional_attention", [None, False, ABSENT]),
]
SCALINGS = [{"rope_type": "default"}, {"rope_type": "linear", "factor": 2.0},
            {"rope_type": "dynamic", "factor": 2.0},
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
            {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
             "original_max_position_embeddings": 16}]


class Draw:
    def __init__(self, family: str, seed: str, vocabulary: int, block: int):
        self.family, self.block = family, block
        self.random = random.Random(f"{family} {seed}")
        self.heads, self.layers = self.random.choice([2, 4, 6]), self.random.choice([1, 2, 3])
        # A quarter of a head has two pairs of elements.
        self.width = 16 if family in (*PARTIAL, "phi3") else self.random.choice([4, 6])
        self.config = {"model_type": family, "vocab_size": vocabulary, "bos_token_id": 0, "eos_token_id": 0,
                       "pad_token_id": None, "tie_word_embeddings": self.is_so()}

    def is_so(self) -> bool:
        return self.random.random() < 0.5

    def draw(self) -> dict:
        self.sizes()
        for families, key, values in ROWS:
            value = self.random.choice(values)
            if self.family in families.split() and value is not ABSENT:
                self.config[key] = value
        # transformers 5.24 norms as many values as a head has without head_dim.
        if self.family == "phi" and "head_dim" in self.config:
            self.config["qk_layernorm"] = False
        if self.family in LAYER_TYPES:
            self.layer_types()
        if self.family in ("gemma3_text", "olmo3"):
            self.layer_ropes()
        elif self.family not in LEARNED:
            self.rope()
        return self.config

    def sizes(self) -> None:
        hidden, inner = self.heads * self.width, self.random.choice([7, 36])
        if self.family == "gpt2":
            names = ["n_positions", "n_embd", "n_layer", "n_head"]
            others = ["max_position_embeddings", "hidden_size", "num_hidden_layers", "num_attention_heads"]
            keys = others if self.is_so() else names
            self.config |= dict(zip(keys, (self.block, hidden, self.layers, self.heads)))
            self.config["n_inner"] = self.random.choice([None, inner])
            return
        self.config |= {"max_position_embeddings": self.block, "hidden_size": hidden}
        if self.family == "gpt_neo":
            kinds = [self.random.choice(["global", "local"]) for _ in range(self.layers)]
            self.config |= {self.random.choice(["num_layers", "num_hidden_layers"]): self.layers,
                            self.random.choice(["num_heads", "num_attention_heads"]): self.heads,
                            "intermediate_size": self.random.choice([None, 7]), "window_size": 5,
                            "attention_types": [[kinds, 1]]}
            if self.is_so():
                self.config["attention_layers"] = ["local"] * self.layers
            return
        self.config |= {"num_hidden_layers": self.layers, "num_attention_heads": self.heads,
                        "ffn_dim" if self.family == "opt" else "intermediate_size": inner}
        if self.family == "opt":
            self.config |= {"word_embed_proj_dim": None, "dropout": 0.0}
        if self.family not in USUAL_HEADS or self.family == "stablelm":
            self.config["num_key_value_heads"] = self.random.choice([self.heads, self.heads // 2])
        # transformers 5.24 opens Mistral with layer_types only with head_dim.
        if self.family in ("gemma", "gemma2", "gemma3_text", "vaultgemma", "qwen3", "helium", "ernie4_5", "seed_oss",
                           "mistral") or (
                self.family not in USUAL_HEADS and self.is_so()):
            self.width *= self.random.choice([1, 2])
            self.config["head_dim"] = self.width
        if self.family == "helium":
            self.config["hidden_size"] = self.heads * self.width

    def layer_types(self) -> None:
        self.config |= {"sliding_window": 5, "layer_types": [
            self.random.choice(["sliding_attention", "full_attention"]) for _ in range(self.layers)]}
        if self.family in ("qwen2", "qwen3", "smollm3"):
            self.config["use_sliding_window"] = True
        if self.family == "smollm3":
            self.config["no_rope_layers"] = [self.random.choice([0, 1]) for _ in range(self.layers)]

    def layer_ropes(self) -> None:
        is_gemma = self.family == "gemma3_text"
        whole, local = self.random.choice(SCALINGS), 10.0 if is_gemma else 50.0
        if self.is_so():
            self.config["rope_parameters"] = {"full_attention": {**whole, "rope_theta": 50.0},
                                              "sliding_attention": {"rope_type": "default", "rope_theta": local}}
        elif is_gemma:
            self.config |= {"rope_theta": 50.0, "rope_local_base_freq": local, "rope_scaling": whole}

    def rope(self) -> None:
        parameters = dict(self.random.choice(SCALINGS))
        if self.family == "phi3":
            parameters = {"rope_type": "default"}
            if "head_dim" not in self.config and self.is_so():
                self.config["original_max_position_embeddings"] = 16
                parameters = {"rope_type": "longrope", "short_factor": [1.5] * (self.width // 2),
                              "long_factor": [4.0] * (self.width // 2)}
        if self.family in PARTIAL and self.is_so():
            parameters["partial_rotary_factor"] = 0.5
        if self.is_so():
            self.config["rope_parameters"] = {**parameters, "rope_theta": 50.0}
            if self.is_so():
                self.config["rope_scaling"] = self.random.choice([{}, None])
        else:
            self.config["rotary_emb_base" if self.family == "gpt_neox" else "rope_theta"] = 50.0
            self.config["rope_scaling"] = parameters
