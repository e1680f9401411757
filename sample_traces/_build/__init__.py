"""Parts of the sample builder: schema-faithful Nsight Systems exports, text artifacts, and what each holds."""
