import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** What only a step of the engine says of a record or an effect. Whoever asks for a step may name some other members, too. */
const decided: ReadonlySet<string> = new Set([
  ...['state', 'fence', 'attempt', 'claimId', 'leaseUntil', 'onLeaseOver', 'recoveryPoint', 'isBegun', 'answer'],
  ...['evidence', 'errorCode', 'doubtedAt', 'reconcileAfter', 'dueAt', 'started', 'finished', 'providerId'],
  ...['firstStartedAt', 'createdAt', 'lastRunAt', 'completedAt', 'progress', 'answerVersion', 'isPassed'],
])

const folder = 'test/simulation'

/** What is written there all the same, and decides nothing: of a whole file, or of one name in it. */
const exceptions: Readonly<Record<string, string>> = {
  'database/copies.ts': 'what is asked for is copied whole, before anybody decides anything',
  'operator.ts': 'a person says what he has seen, and asks for a step by it',
  'programs.ts: attempt': 'the body of an answer tells which attempt has made it',
  'effect-kinds.ts: [kind]': 'a node knows the effects that its requests may lead to',
  'node.ts: answer': 'a node answers',
  'node.ts: [name]': 'a worker has options by its name',
  'main.ts: [feature]': 'what was come by is counted',
  'exhaustive.ts: [last]': 'a list of choices goes on with the next one',
  'database/database.ts: [of]': 'ids are counted',
  'database/shared-statements.ts: [kind]': 'statements that are under way are counted',
  'world/faults.ts: [kind]': 'what may still go wrong is counted',
  'world/faults.ts: [kind as keyof Budget]': 'from some point on nothing goes wrong',
}

test('the simulation decides nothing of a record or an effect by itself', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  expect(files.length).toBeGreaterThan(60)
  const found = files.flatMap((name) =>
    decisions(readFileSync(join(folder, name), 'utf8')).map((what) => ({ name, what: `${name}: ${what}` })),
  )
  expect(found.filter(({ name, what }) => !(name in exceptions || what in exceptions))).toEqual([])
  const used = new Set(found.flatMap(({ name, what }) => [name, what]))
  expect(Object.keys(exceptions).filter((exception) => !used.has(exception))).toEqual([])
})

test.each([
  ['in a literal', '({ ...record, state: "unknown", leaseUntil: undefined })', ['state', 'leaseUntil']],
  ['by its own name', 'changedRecord(record, { fence })', ['fence']],
  ['in quotes', '({ "state": "unknown", ["leaseUntil"]: undefined, [`dueAt`]: 1 })', ['state', 'leaseUntil', 'dueAt']],
  [
    'by an assignment',
    'next.state = "unknown"; next["leaseUntil"] = undefined; next.fence++',
    ['state', 'leaseUntil', 'fence'],
  ],
  ['by one that may be none', 'next.answer ??= other; --next.attempt', ['answer', 'attempt']],
  ['by taking it away', 'delete next.leaseUntil', ['leaseUntil']],
  ['by taking it apart', '[next.state, { a: next.fence }] = both', ['state', 'fence']],
  ['by assigning a whole', 'Object.assign(next, { state: "unknown" })', ['state']],
  [
    'by its name',
    'Reflect.set(next, "state", "unknown"); Object.defineProperty(next, "dueAt", {})',
    ['state', 'dueAt'],
  ],
  ['by a name that is found elsewhere', 'next[name] = 1; ({ [name]: 1 })', ['[name]', '[name]']],
  ['by a member that computes it', '({ get state() { return "unknown" }, answer() {} })', ['state', 'answer']],
] as const)('a step that is written down a second time %s is seen', (_, source, names) => {
  expect(decisions(source)).toEqual(names)
})

test('who only looks is not seen', () => {
  const looking = `
    const { state, fence: raised } = record
    const isOver = record.state === 'completed' && record['leaseUntil'] <= now
    type Named = Pick<StoredRecord, 'state' | 'fence'>
    interface Given { readonly state: string }
    ;[{ state: before.was }] = [record]
    counts[0] = 1`
  expect(decisions(looking)).toEqual([])
})

/** The names that are written of all that only a step decides, in order. */
function decisions(source: string): readonly string[] {
  const names: string[] = []
  const visit = (node: ts.Node): void => {
    for (const name of writtenBy(node)) names.push(name)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('simulation.ts', source, ts.ScriptTarget.Latest, true))
  return names
}

/** What this very node writes: a member of a literal, something that is assigned or taken away, or a member that is named. */
function writtenBy(node: ts.Node): readonly string[] {
  if (ts.isObjectLiteralElementLike(node) && ts.isObjectLiteralExpression(node.parent))
    return isTakenApart(node.parent) ? [] : wantedOf(node.name)
  if (ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind)) return targetsIn(node.left)
  if (ts.isDeleteExpression(node)) return targetsIn(node.expression)
  if ((ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) && isCounting(node.operator))
    return targetsIn(node.operand)
  if (ts.isCallExpression(node)) return node.arguments.filter(ts.isStringLiteralLike).flatMap(wantedOf)
  return []
}

/** What an assignment writes, also where it takes something apart. */
function targetsIn(node: ts.Expression): readonly string[] {
  if (ts.isPropertyAccessExpression(node)) return wantedOf(node.name)
  if (ts.isElementAccessExpression(node)) return wantedOf(node.argumentExpression)
  if (ts.isParenthesizedExpression(node) || ts.isSpreadElement(node)) return targetsIn(node.expression)
  if (ts.isArrayLiteralExpression(node)) return node.elements.flatMap(targetsIn)
  if (!ts.isObjectLiteralExpression(node)) return []
  return node.properties.flatMap((member) => (ts.isPropertyAssignment(member) ? targetsIn(member.initializer) : []))
}

/** The name of what only a step decides, or how it is spelt where nobody can tell. */
function wantedOf(name: ts.PropertyName | ts.Expression | undefined): readonly string[] {
  if (name === undefined || ts.isNumericLiteral(name) || ts.isPrivateIdentifier(name)) return []
  if (ts.isComputedPropertyName(name)) return spelt(name.expression)
  if (ts.isIdentifier(name) && !ts.isElementAccessExpression(name.parent))
    return decided.has(name.text) ? [name.text] : []
  return spelt(name)
}

function spelt(name: ts.Node): readonly string[] {
  if (!ts.isStringLiteralLike(name)) return [`[${name.getText()}]`]
  return decided.has(name.text) ? [name.text] : []
}

function isAssignment(kind: ts.SyntaxKind): boolean {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment
}

function isCounting(kind: ts.SyntaxKind): boolean {
  return kind === ts.SyntaxKind.PlusPlusToken || kind === ts.SyntaxKind.MinusMinusToken
}

/** Of a literal that an assignment takes apart, the names are only looked at. */
function isTakenApart(literal: ts.Node): boolean {
  const { parent } = literal
  if (ts.isBinaryExpression(parent)) return isAssignment(parent.operatorToken.kind) && parent.left === literal
  return ts.isArrayLiteralExpression(parent) && isTakenApart(parent)
}
