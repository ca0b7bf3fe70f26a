// Anchors the precompiled header that all compiler libraries share.
