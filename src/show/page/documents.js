// Decodes the documents of the page's data.

// Returns a document and its heads, with layers as rows. `bits`: width of a stored weight, 8 or 16.
export function readDocument(source, index, bits) {
  const columns = [...new Set(source.layers.flatMap((layer) => layer.heads))]
    .sort((a, b) => a - b);
  const doc = {...source, index, columns, bits, count: source.tokens.length};
  doc.heads = source.layers.flatMap((layer, row) => layer.heads.map((head, i) => ({
    doc, layer: layer.layer, head, row, column: columns.indexOf(head),
    name: `${layer.layer}.${head}`, code: layer.weights[i], width: layer.width ?? 0,
    scale: layer.scale, cap: layer.cap, window: layer.window,
    vectors: layer.vectors?.[i] ?? null, score: source.scores[`${layer.layer}.${head}`] ?? null,
  })));
  doc.byName = new Map(doc.heads.map((head) => [head.name, head]));
  return doc;
}

// Decodes the weights [T, T] of a head: little-endian 16-bit integers or 8-bit square roots.
export function decode(head) {
  const {count, causal, bits} = head.doc;
  const bytes = atob(head.code);
  const weights = new Float32Array(count * count);
  let at = 0;
  for (let query = 0; query < count; ++query) {
    const row = query * count;
    const end = causal ? query + 1 : count;
    for (let key = 0; key < end; ++key) {
      if (bits === 8) {
        weights[row + key] = (bytes.charCodeAt(at++) / 255) ** 2;
      } else {
        weights[row + key] = (bytes.charCodeAt(at) | bytes.charCodeAt(at + 1) << 8) / 65535;
        at += 2;
      }
    }
  }
  return weights;
}

// Decodes queries or keys [T, D] of a head: signed 16-bit integers times a scale.
export function decodeVectors({scale, code}) {
  const bytes = atob(code);
  return Float64Array.from({length: bytes.length / 2}, (_, i) =>
    (bytes.charCodeAt(2 * i) | bytes.charCodeAt(2 * i + 1) << 8) << 16 >> 16).map((v) => v * scale);
}
