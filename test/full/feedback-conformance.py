"""Loads exports with the libraries that they are for. Prints one JSON object for each check.

Arguments: a check, and the folder of an export. Nothing is downloaded: the model that is trained is
made here, and knows nothing.
"""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"


def load(folder):
    from datasets import load_dataset

    return load_dataset(folder, split="train", cache_dir=folder + ".cache")


def kto(folder):
    rows = load(folder)
    return {"columns": rows.column_names, "rows": len(rows), "score": rows.features["score"].dtype}


def dpo(folder):
    rows = load(folder)
    return {"columns": rows.column_names, "rows": len(rows)}


def images(folder):
    rows = load(folder)
    sizes = [[list(image.size) for image in row["images"]] for row in rows]
    places = [
        sum(part["type"] == "image" for message in row["prompt"] for part in message["content"])
        for row in rows
    ]
    return {"columns": rows.column_names, "rows": len(rows), "sizes": sizes, "places": places}


def train(folder):
    """Two steps of KTO with a model that is made on the spot."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
    from trl import KTOConfig, KTOTrainer

    words = {chr(code): code for code in range(256)} | {"<pad>": 256, "<eos>": 257, "<unk>": 258}
    tokens = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    names = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, **names)
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    size = {"vocab_size": 259, "n_positions": 512, "n_embd": 16, "n_layer": 1, "n_head": 1}
    config = GPT2Config(**size, bos_token_id=257, eos_token_id=257)
    # The trainer reads the reference model from where the model came from.
    GPT2LMHeadModel(config).save_pretrained(folder + ".start")
    settings = KTOConfig(
        output_dir=folder + ".model",
        max_steps=2,
        per_device_train_batch_size=2,
        max_length=256,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        bf16=False,
    )
    trainer = KTOTrainer(
        model=folder + ".start",
        args=settings,
        train_dataset=load(folder),
        processing_class=tokenizer,
    )
    trainer.train()
    return {"steps": trainer.state.global_step}


check, folder = sys.argv[1:3]
print(json.dumps(globals()[check](folder)))
