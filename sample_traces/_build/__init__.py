"""Parts of the sample builder: schema-faithful exports, text artifacts, and what each holds."""
