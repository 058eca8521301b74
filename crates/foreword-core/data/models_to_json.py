"""Writes models.json from models.yaml. The program parses the JSON, because it is faster at every start."""
import json

import yaml

with open("models.yaml", encoding="utf-8") as table:
    rows = [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in yaml.safe_load(table)]
with open("models.json", "w", encoding="utf-8") as out:
    out.write("[\n" + ",\n".join(rows) + "\n]\n")
