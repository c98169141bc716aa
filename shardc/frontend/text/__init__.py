"""The reader of .shard programs: text -> syntax tree -> IR. The language is described in grammar/README.md."""
