;;; jumpseat.el --- Chat with every model provider  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; Author: The jumpseat authors
;; URL: https://github.com/jumpseat/jumpseat
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience, comm
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Chats with language models in Markdown buffers, and regions rewritten in
;; place.  The package talks only to the jumpseat daemon, which handles HTTP,
;; keys and providers for all your editors.
;;
;; `M-x jumpseat-install' installs the daemon if you do not have it, and
;; `M-x jumpseat-login' signs in.  Then:
;;
;;   M-x jumpseat           open the last chat; with a prefix argument, a new one
;;   M-x jumpseat-open      open a saved chat
;;   M-x jumpseat-ask       ask in the last chat, about the region
;;   M-x jumpseat-send      in any buffer, send the text before point and insert the answer
;;   M-x jumpseat-rewrite   rewrite the region; the change is shown before it is applied
;;   M-x jumpseat-rewrite-with  rewrite with another model, system prompt or context
;;   M-x jumpseat-menu      show and change everything in one menu
;;   M-x jumpseat-add       add the region, buffer or marked files to the chat's context
;;   M-x jumpseat-model     choose the chat's model, or outside a chat the default model
;;   M-x jumpseat-settings  choose settings of the chat
;;   M-x jumpseat-tools     choose the tools of the chat
;;   M-x jumpseat-preset    apply a preset to the chat
;;   M-x jumpseat-history   pick a kept conversation: continue, preview, fork, rename, delete
;;   M-x jumpseat-explain   explain the function; also -review, -fix, -document, -write-tests
;;   M-x jumpseat-project   open the chat of the project
;;   M-x jumpseat-commit-message  write a commit message for the staged changes
;;   M-x jumpseat-set-key   store an API key
;;   M-x jumpseat-dry-run   show what would be sent
;;   M-x jumpseat-status    show providers, accounts and quotas
;;   M-x jumpseat-doctor    check what a provider needs
;;   M-x jumpseat-log       show the logs
;;
;; A chat is text: write a question under the last heading, and send it with
;; C-c C-c.  You can edit everything above the question: the edited text is sent.
;; C-c C-k stops an answer and keeps the text received so far.  Emacs stays
;; responsive while it waits.
;;
;; The package does not bind keys outside of chats.  To put the commands on a
;; prefix key, use `jumpseat-command-map':
;;
;;   (global-set-key (kbd "C-c j") 'jumpseat-command-map)

;;; Code:

(require 'jumpseat-anywhere)
(require 'jumpseat-branch)
(require 'jumpseat-file)
(require 'jumpseat-history)
(require 'jumpseat-inspect)
(require 'jumpseat-install)
(require 'jumpseat-keys)
(require 'jumpseat-marks)
(require 'jumpseat-menu)
(require 'jumpseat-rewrite-menu)
(require 'jumpseat-settle)
(require 'jumpseat-variants)

;; Each command loads the whole package: the keymap and the menu of chats use
;; commands from many files.
;;;###autoload
(dolist (command '(jumpseat jumpseat-add jumpseat-add-buffer jumpseat-add-clipboard
                   jumpseat-add-directory jumpseat-add-file jumpseat-add-page jumpseat-add-project
                   jumpseat-ask jumpseat-chat-mode jumpseat-commit-message jumpseat-context
                   jumpseat-doctor jumpseat-document jumpseat-dry-run jumpseat-explain
                   jumpseat-fix jumpseat-history jumpseat-install jumpseat-log jumpseat-login
                   jumpseat-logout jumpseat-menu jumpseat-model jumpseat-new jumpseat-open
                   jumpseat-preset jumpseat-project jumpseat-prompt jumpseat-remove-key
                   jumpseat-restart jumpseat-review jumpseat-rewrite jumpseat-rewrite-with
                   jumpseat-send jumpseat-set-key jumpseat-settings jumpseat-status jumpseat-stop
                   jumpseat-tools jumpseat-write-tests))
  (autoload command "jumpseat" nil t))
;;;###autoload
(dolist (function '(jumpseat--file-mode jumpseat-models jumpseat-request))
  (autoload function "jumpseat"))

;;;###autoload (autoload 'jumpseat-command-map "jumpseat" nil nil 'keymap)
(defvar jumpseat-command-map
  (let ((map (make-sparse-keymap)))
    (define-key map "j" #'jumpseat)
    (define-key map (kbd "RET") #'jumpseat-send)
    (define-key map "o" #'jumpseat-open)
    (define-key map "a" #'jumpseat-ask)
    (define-key map "+" #'jumpseat-add)
    (define-key map "r" #'jumpseat-rewrite)
    (define-key map "R" #'jumpseat-rewrite-with)
    (define-key map "k" #'jumpseat-stop)
    (define-key map "m" #'jumpseat-model)
    (define-key map "p" #'jumpseat-project)
    (define-key map "/" #'jumpseat-prompt)
    (define-key map "c" #'jumpseat-commit-message)
    (define-key map "h" #'jumpseat-history)
    (define-key map "s" #'jumpseat-status)
    (define-key map "l" #'jumpseat-log)
    (define-key map "?" #'jumpseat-menu)
    map)
  "Keymap of jumpseat's commands, for a prefix key.")
(fset 'jumpseat-command-map jumpseat-command-map)

;;; Keys and the menu of chats

(pcase-dolist (`(,key . ,command)
               '(("C-c RET" . jumpseat-send)
                 ;; The header line shows the key that is bound last.
                 ("C-c C-c" . jumpseat-send)
                 ("C-c C-k" . jumpseat-stop)
                 ("C-c C-n" . jumpseat-next-turn)
                 ("C-c C-p" . jumpseat-previous-turn)
                 ("C-c C-t" . jumpseat-toggle-fold)
                 ("C-c C-a" . jumpseat-retry)
                 ("C-c M-n" . jumpseat-next-variant)
                 ("C-c M-p" . jumpseat-previous-variant)
                 ("C-c C-e" . jumpseat-ediff-variants)
                 ("C-c M-b" . jumpseat-branch)
                 ("C-c C-j" . jumpseat-menu)
                 ("C-c C-v" . jumpseat-model)
                 ("C-c C-o" . jumpseat-settings)
                 ("C-c C-l" . jumpseat-tools)
                 ("C-c C-f" . jumpseat-add-file)
                 ("C-c C-w" . jumpseat-copy-code)
                 ("C-c C-i" . jumpseat-insert-code)
                 ;; Text modes use this key to complete words from a dictionary.
                 ("C-M-i" . completion-at-point)
                 ("<remap> <save-buffer>" . jumpseat-save)))
  (define-key jumpseat-chat-mode-map (kbd key) command))

(define-key jumpseat-tools-mode-map "i" #'jumpseat-tools-sign-in)
(define-key jumpseat-rewrite-mode-map (kbd "C-c C-o") #'jumpseat-rewrite-with)

(easy-menu-define jumpseat--chat-menu jumpseat-chat-mode-map
  "Menu in chats."
  '("Jumpseat"
    ["Send" jumpseat-send :active (not (jumpseat--send-running-p))]
    ["Stop" jumpseat-stop :active (jumpseat--send-running-p)]
    ["Allow Call" jumpseat-allow :active jumpseat-approval-mode]
    ["Deny Call" jumpseat-deny :active jumpseat-approval-mode]
    "---"
    ["Choose Model..." jumpseat-model]
    ["Choose Setting..." jumpseat-settings]
    ["Choose Tools..." jumpseat-tools]
    ("Context"
     ["Add File..." jumpseat-add-file]
     ["Add Page..." jumpseat-add-page]
     ["List and Remove" jumpseat-context])
    ["Apply Preset..." jumpseat-preset :active jumpseat-presets]
    "---"
    ("Variants"
     ["Ask Question at Point Again" jumpseat-retry :active (not (jumpseat--send-running-p))]
     ["Next" jumpseat-next-variant]
     ["Previous" jumpseat-previous-variant]
     ["Compare in Ediff" jumpseat-ediff-variants])
    ["Start Branch..." jumpseat-branch :active (derived-mode-p 'org-mode)]
    "---"
    ["Next Heading" jumpseat-next-turn]
    ["Previous Heading" jumpseat-previous-turn]
    ["Show or Hide Thinking or Call" jumpseat-toggle-fold]
    ["Copy Code Block" jumpseat-copy-code]
    ["Insert Code Block into Last File" jumpseat-insert-code]
    "---"
    ["New Chat" jumpseat-new]
    ["Open Saved Chat..." jumpseat-open]
    ["Kept Conversations..." jumpseat-history]
    "---"
    ["Everything..." jumpseat-menu]
    ["Status" jumpseat-status]
    ["Logs" jumpseat-log]
    ["Options" (customize-group 'jumpseat)]))

(provide 'jumpseat)
;;; jumpseat.el ends here
