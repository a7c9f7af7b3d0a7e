import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { number } from '../../protocol/numbers';
import { isSensitive } from '../chat/apply';
import { askOnce, type OneAnswer } from '../chat/ask_once';
import { confirmSensitive } from '../chat/sensitive';
import type { Configuration } from '../configuration';
import type { EngineSupervisor } from '../engine/supervisor';
import type { Disposable } from '../lifecycle';
import { chatModelOf } from '../settings';
import type { Snapshots } from '../snapshots';
import { codeOf, indentLike } from './answer_code';
import { closeDiff, showDiff } from './diff_tab';
import { Passage } from './passage';
import { editMessages } from './prompt';
import { Proposal } from './proposal';
import { editRegion } from './region';
import { Review } from './review';

/** Steadier than a conversation: an edit is to be what was asked for. */
const TEMPERATURE = 0.2;

export interface InlineEditParts {
  readonly configuration: Configuration;
  readonly engine: Pick<EngineSupervisor, 'chat'>;
  readonly snapshots: Snapshots;
}

/**
 * Rewrites lines of the editor as the user says. The model's text goes into a proposal beside the file while it is
 * written; the file itself is changed once, when the text is whole, so that one undo takes it back and a cancelled
 * edit leaves no trace. A file whose lines changed meanwhile is left alone.
 */
export class InlineEdit implements Disposable {
  private lastInstruction = '';
  private writing: AbortController | null = null;
  private review: Review | null = null;

  constructor(private readonly parts: InlineEditParts) {}

  /** Asks for an instruction and writes. Throws an Error that says why it could not. */
  async start(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || vscode.workspace.fs.isWritableFileSystem(editor.document.uri.scheme) === false) {
      throw new Error(l10n.t('open a file that can be changed first.'));
    }
    if (this.writing) throw new Error(l10n.t('an edit is being written: cancel it first.'));
    if (!(await this.hasModel())) return;
    const { document } = editor;
    if (isSensitive(document.uri.path) && !(await confirmSensitive(document.uri))) return;
    this.review?.keep();
    const passage = new Passage(document, await editRegion(editor));
    try {
      const instruction = await this.ask(editor, passage);
      if (instruction === undefined || instruction.trim() === '') return;
      this.lastInstruction = instruction;
      if (!passage.isUntouched) {
        throw new Error(l10n.t('the lines changed before the edit was written: try again.'));
      }
      await this.writeAlone(passage, instruction);
    } finally {
      passage.dispose();
    }
  }

  /** While it is written: stops. Afterwards: the change stays, unsaved. */
  async keep(): Promise<void> {
    await this.needReview().finish();
  }

  async discard(): Promise<void> {
    if (this.writing) this.writing.abort();
    else await this.needReview().discard();
  }

  async discardPart(): Promise<void> {
    await this.needReview().discardPart();
  }

  dispose(): void {
    this.writing?.abort();
    this.review?.keep();
  }

  private needReview(): Review {
    if (!this.review) throw new Error(l10n.t('there is no edit to keep or to discard.'));
    return this.review;
  }

  private async ask(
    editor: vscode.TextEditor,
    { firstLine, lastLine }: Passage,
  ): Promise<string | undefined> {
    const mark = vscode.window.createTextEditorDecorationType({
      backgroundColor: new vscode.ThemeColor('editor.rangeHighlightBackground'),
      isWholeLine: true,
    });
    editor.setDecorations(mark, [new vscode.Range(firstLine - 1, 0, lastLine - 1, 0)]);
    try {
      const [from, to] = [firstLine, lastLine];
      return await vscode.window.showInputBox({
        title:
          from === to
            ? l10n.t('Edit line {from}', { from })
            : l10n.t('Edit lines {from} to {to}', { from, to }),
        prompt: l10n.t('What should change? The result is shown as a diff.'),
        value: this.lastInstruction,
      });
    } finally {
      mark.dispose();
    }
  }

  private async writeAlone(passage: Passage, instruction: string): Promise<void> {
    const controller = new AbortController();
    this.writing = controller;
    try {
      await this.write(passage, instruction, controller);
    } finally {
      this.writing = null;
      await this.tellState();
    }
  }

  private async write(
    passage: Passage,
    instruction: string,
    controller: AbortController,
  ): Promise<void> {
    const { snapshots } = this.parts;
    const proposal = new Proposal(passage, snapshots);
    try {
      await this.tellState();
      await proposal.show();
      const { text, finish } = await this.generate(passage, instruction, proposal, controller);
      if (finish === 'cancelled') {
        await closeDiff(proposal.uri, passage.document);
        return;
      }
      if (finish === 'length') throw new Error(this.cutOff());
      const code = codeOf(text, true);
      if (code === null)
        throw new Error(l10n.t('the model answered without code: ask again in other words.'));
      await this.propose(passage, proposal, indentLike(code, passage.text));
    } catch (error) {
      await closeDiff(proposal.uri, passage.document);
      throw error;
    }
  }

  /** Half of the new lines in the place of all old ones would lose code. */
  private cutOff(): string {
    const { maxTokens } = this.parts.configuration.current.chat;
    return l10n.t(
      'the new code was cut off at {count} tokens, so the edit was not made: select fewer lines, or raise anllm.chat.maxTokens or anllm.chat.contextLength.',
      { count: number(maxTokens) },
    );
  }

  private async generate(
    passage: Passage,
    instruction: string,
    proposal: Proposal,
    controller: AbortController,
  ): Promise<OneAnswer> {
    const { engine, configuration } = this.parts;
    const { temperature, maxTokens } = configuration.current.chat;
    try {
      return await askOnce(engine, {
        title: l10n.t('anllm: writing the edit'),
        messages: editMessages(passage.place(), instruction),
        temperature: temperature ?? TEMPERATURE,
        maxTokens,
        controller,
        onText: (answer) => {
          const code = codeOf(answer, false);
          if (code !== null) proposal.grow(indentLike(code, passage.text));
        },
      });
    } finally {
      proposal.settle();
    }
  }

  /** Changes the file, once, and shows what changed. */
  private async propose(passage: Passage, proposal: Proposal, code: string): Promise<void> {
    const { document } = passage;
    if (passage.isSameAs(code)) {
      await closeDiff(proposal.uri, document);
      void vscode.window.showInformationMessage(l10n.t('anllm: the model changed nothing.'));
      return;
    }
    if (!passage.isUntouched) {
      proposal.finish(code);
      void vscode.window.showWarningMessage(
        l10n.t(
          'anllm: these lines changed while the model was writing, so the edit was not made. Its text stays open beside them to copy from.',
        ),
      );
      return;
    }
    const before = document.getText();
    const span = await passage.replace(code);
    const left = this.parts.snapshots.add(document.uri, before);
    const name = document.uri.path.split('/').at(-1) ?? '';
    await showDiff(
      left,
      document.uri,
      l10n.t('{name} (before ↔ edit)', { name }),
      passage.firstLine,
    );
    await closeDiff(proposal.uri, null);
    const review = new Review({ document, before, old: passage.text, span, left }, () => {
      if (this.review === review) this.review = null;
      void this.tellState();
    });
    this.review = review;
  }

  private async hasModel(): Promise<boolean> {
    if (this.model !== '') return true;
    const choose = l10n.t('Choose a Model');
    const choice = await vscode.window.showInformationMessage(
      l10n.t('anllm: edits need a chat model; the built-in one completes code only.'),
      choose,
    );
    if (choice === choose) await vscode.commands.executeCommand('anllm.chat.chooseModel');
    return this.model !== '';
  }

  private get model(): string {
    return chatModelOf(this.parts.configuration.current.engine);
  }

  private async tellState(): Promise<void> {
    const state = this.writing ? 'writing' : this.review ? 'review' : '';
    const paths = this.review ? [this.review.path] : [];
    await vscode.commands.executeCommand('setContext', 'anllm.edit', state);
    await vscode.commands.executeCommand('setContext', 'anllm.edit.paths', paths);
  }
}
