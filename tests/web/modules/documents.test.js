import {decode, decodeVectors, readDocument} from '../../../src/show/page/documents.js';
import {equal, near, test} from './harness.js';
import {code16, code8, vectorCode} from './sample.js';

const source = {
  title: 'toy', tokens: ['a', 'b'], labels: ['a', 'b'], causal: true,
  scores: {'3.5': ['induction', 0.9]},
  layers: [{layer: 0, heads: [2, 5], weights: ['x', 'y']},
           {layer: 3, heads: [5], weights: ['z'], width: 4, vectors: [{queries: 1, keys: 2}]}],
};

test('heads are arranged by layer in rows and by number in columns', () => {
  const doc = readDocument(source, 1, 16);
  equal(doc.columns, [2, 5]);
  equal([doc.index, doc.count, doc.bits], [1, 2, 16]);
  equal(doc.heads.map(({name, row, column, code}) => [name, row, column, code]),
        [['0.2', 0, 0, 'x'], ['0.5', 0, 1, 'y'], ['3.5', 1, 1, 'z']]);
  equal(doc.byName.get('3.5') === doc.heads[2], true);
});

test('scores and vectors are null where there are none', () => {
  const {heads} = readDocument(source, 0, 16);
  equal(heads.map(({score}) => score), [null, null, ['induction', 0.9]]);
  equal(heads.map(({vectors}) => vectors), [null, null, {queries: 1, keys: 2}]);
  equal(heads.map(({width}) => width), [0, 0, 4]);
});

test('16-bit weights fill the lower triangle, lower byte first', () => {
  const weights = decode({doc: {count: 2, causal: true, bits: 16},
                          code: btoa('\xff\xff\x00\x80\x01\x00')});
  near([...weights], [1, 0, 32768 / 65535, 1 / 65535], 1e-7);
});

test('weights of maps with later keys fill the whole square', () => {
  const weights = decode({doc: {count: 2, causal: false, bits: 16},
                          code: code16([0.5, 0.5, 0.1, 0.9])});
  near([...weights], [0.5, 0.5, 0.1, 0.9], 1e-5);
});

test('8-bit weights are squares', () => {
  const weights = decode({doc: {count: 2, causal: true, bits: 8}, code: code8([1, 0.01, 0.99])});
  near(weights[0], 1);
  near(weights[1], 0);
  near([weights[2], weights[3]], [0.01, 0.99], 0.004);
});

test('vectors are signed', () => {
  near([...decodeVectors(vectorCode([1, -1, 0, -31.5], 1 / 1024))], [1, -1, 0, -31.5]);
  near([...decodeVectors({scale: 2, code: btoa('\x00\x80\xff\x7f')})], [-65536, 65534]);
});
