import {carriedChange, commandOf, interventionOf, quoted, samplingOptions, steeredBy, steeringOf} from '../../../../src/show/page/live/changes.js';
import {newSession} from '../../../../src/show/page/live/session.js';
import {equal, test} from '../harness.js';

const off = {kind: 'off', by: 2};

test('parts with the same change are grouped', () => {
  const changes = new Map([['0.1', off], ['1.0', {kind: 'scale', by: 0.5}], ['mlp.2', off],
                           ['1.1', {kind: 'mean', by: 2}], ['0.3', {kind: 'freeze', by: 2}], ['1.2', {kind: 'scale', by: 3}]]);
  equal(interventionOf({changes, text: 'a cat', frozen: 'a "dog"'}),
        'off 0.1, mlp.2; scale 1.0 0.5; mean 1.1 from "a cat"; freeze pattern.0.3 from \'a "dog"\'; scale 1.2 3');
  equal(interventionOf({changes: new Map(), text: '', frozen: ''}), '');
});

test('texts are quoted with marks that they do not contain', () => {
  equal([quoted('a'), quoted('a "b"'), quoted("it's"), quoted('"it\'s"')],
        ['"a"', '\'a "b"\'', '"it\'s"', '"""it\'s"""']);
});

test('a carried activation is named with its tokens', () => {
  equal(carriedChange({part: '0.1', from: null, to: null}, 'a b'), 'freeze 0.1 from "a b"');
  equal(carriedChange({part: 'mlp_out.1', from: 2, to: 2}, 'a b'), 'freeze mlp_out.1 from "a b" @2');
  equal(carriedChange({part: 'resid_post.1', from: 2, to: 5}, 'a b'), 'freeze resid_post.1 from "a b" at 2 @5');
});

test('the factor of an added direction is found and replaced', () => {
  const cases = [['add resid_post.6 joy.npz:v*4', 4, 'add resid_post.6 joy.npz:v*-2.5'],
                 ['off 1.1; add resid_post.6 joy.npz:v', 1, 'off 1.1; add resid_post.6 joy.npz:v*-2.5'],
                 ['add resid_post.6 "a; add *3" - \'b*2\' * 0.5 @3-', 0.5, 'add resid_post.6 "a; add *3" - \'b*2\'*-2.5 @3-'],
                 ['add mlp.* joy.npz:v @last; scale 1.1 2', 1, 'add mlp.* joy.npz:v*-2.5 @last; scale 1.1 2']];
  for (const [changes, factor, after] of cases) {
    equal(steeringOf(changes).factor, factor);
    equal(steeredBy(changes, -2.5), after);
  }
  equal([steeringOf('off 1.1; scale 2.1 3'), steeringOf(''), steeringOf('mean 1.1 from "add x y*2"')], [null, null, null]);
});

test('a command is quoted so that a shell parses it correctly', () => {
  const session = {...newSession(), model: 'toy', models: [{id: 'toy', root: 'my runs/toy'}],
                   changes: new Map([['0.1', off]])};
  equal(commandOf('generate', {prompt: "it's", seed: 3, stream: true, top_k: null, answer: ''}, session),
        "headlight generate 'my runs/toy' --intervene 'off 0.1' --prompt 'it'\\''s' --seed 3 --stream");
  equal(commandOf('lens', {text: 'a\nb'}, {...newSession(), model: 'runs/toy'}),
        "headlight lens runs/toy --text 'a\nb'");
});

test('a command has the temperature and the seed of the page, and unusual settings', () => {
  const {settings} = newSession();
  equal(samplingOptions(settings, 60), {max_new_tokens: 60, temperature: 0.8, seed: 1});
  equal(samplingOptions({...settings, seed: 9, top_k: 40, answer_tokens: 5}, 5), {max_new_tokens: 5, temperature: 0.8, top_k: 40, seed: 9});
});
