"""Pictures and pages that load nothing: Vega-Lite drawn to SVG, and HTML with its style and script inside."""
