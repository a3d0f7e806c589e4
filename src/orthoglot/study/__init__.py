"""The study: encoders and methods trained and measured as the papers do, by the workflow at the root of a checkout."""
