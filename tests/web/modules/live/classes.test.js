import {classesOf, headsByClass, shortened} from '../../../../src/show/page/live/classes.js';
import {placedParts, signed} from '../../../../src/show/page/live/contributions.js';
import {equal, test} from '../harness.js';

test('classes are the verdicts, those that name a pattern first', () => {
  const heads = [['0.0', 'mixed', 0.1], ['0.1', 'mixed', 0.2], ['1.0', 'diffuse', 0.95], ['1.1', 'previous_token', 0.5]]
    .map(([head, verdict, score]) => ({head, verdict, verdict_score: score, settled: head !== '1.1'}));
  const labels = {ko: {mixed: '섞임', diffuse: '두루', previous_token: '바로 앞 토큰'}};
  const classes = classesOf({heads, labels}, 'ko');
  equal(classes.get('1.1'), {name: 'previous_token', label: '바로 앞 토큰', score: 0.5, settled: false});
  equal(headsByClass(classes).map(({label, heads: named}) => [label, named]),
        [['바로 앞 토큰', ['1.1']], ['섞임', ['0.0', '0.1']], ['두루', ['1.0']]]);
});

test('contributions of heads and MLPs are placed in a map of the model', () => {
  const {width, layers, cells} = placedParts([
    {kind: 'embedding', logit: 9}, {kind: 'norm', layer: 5, logit: 1}, {kind: 'head', layer: 0, head: '0.1', logit: -1},
    {kind: 'head', layer: 1, head: '1.2', logit: 2}, {kind: 'mlp', layer: 1, logit: 3}]);
  equal([width, layers], [3, 2]);
  equal(cells, [{layer: 0, column: 1, name: '0.1', logit: -1}, {layer: 1, column: 2, name: '1.2', logit: 2},
                {layer: 1, column: 3, name: 'MLP 1', logit: 3}]);
  equal([signed(1), signed(-0.5)], ['+1.00', '−0.50']);
});

test('the beginning of a text is on one line, in whole characters', () => {
  equal(shortened('a\n b'), 'a b');
  equal(shortened('가'.repeat(60)), '가'.repeat(60));
  equal(shortened('🦊'.repeat(61)), `${'🦊'.repeat(60)} …`);
});
