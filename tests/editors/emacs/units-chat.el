;;; units-chat.el --- Unit tests of the Emacs package  -*- lexical-binding: t; -*-
;;; Commentary:
;; Chats: their mode and menus, answers, context and tools.
;;; Code:
(require 'units)

;;; The mode of chats

(ert-deftest units-a-buffer-that-is-no-longer-a-chat-keeps-nothing-of-it ()
  (units-with "## Me\n\n"
    (jumpseat-chat-mode)
    (should header-line-format)
    (should (and visual-line-mode flymake-mode))
    (jumpseat-chat-mode -1)
    (should-not (or visual-line-mode flymake-mode))
    (dolist (each '(header-line-format scroll-conservatively buffer-offer-save
                    sentence-end-double-space))
      (should-not (local-variable-p each)))
    (dolist (hook '(completion-at-point-functions flymake-diagnostic-functions kill-buffer-hook
                    change-major-mode-hook after-revert-hook after-change-functions))
      (should-not (string-match-p "jumpseat" (format "%S" (symbol-value hook)))))))

(ert-deftest units-a-mode-of-the-user-stays-when-a-buffer-is-no-longer-a-chat ()
  (units-with "## Me\n\n"
    (visual-line-mode)
    (jumpseat-chat-mode)
    (jumpseat-chat-mode -1)
    (should visual-line-mode)
    (should-not flymake-mode)))

(defun units-menu-items (menu)
  "Return the names and commands of MENU and its submenus."
  (let (items)
    (map-keymap (lambda (_key item)
                  ;; In newer releases a separator is a list of a text.
                  (unless (string-prefix-p "--" (or (nth 1 item) (car item)))
                    (if (keymapp (nth 2 item))
                        (setq items (append (units-menu-items (nth 2 item)) items))
                      (push (cons (nth 1 item) (nth 2 item)) items))))
                menu)
    items))

(ert-deftest units-every-item-of-a-menu-is-a-command ()
  (let ((items (seq-mapcat #'units-menu-items (list jumpseat--chat-menu jumpseat--rewrite-menu))))
    (dolist (item items)
      (should (commandp (cdr item))))
    (should (assoc "Send" items))
    (should (assoc "Compare in Ediff" items))
    (should (assoc "Accept All" items))))

;;; Deltas

(ert-deftest units-a-wait-that-is-not-for-the-model-is-shown ()
  (cl-letf (((symbol-function 'jumpseat--rpc-request) #'ignore))
    (units-with "Question"
      (let* ((answer (jumpseat--answer-new "## Assistant"))
             (turn (jumpseat--turn-start "chat/start" nil
                                        (apply-partially #'jumpseat--answer-write answer) #'ignore)))
        (dolist (each '(((:kind "begin" :title "Loading the model") . "Loading the model")
                        ((:kind "report" :message "Loading" :percentage 40) . "Loading 40 %")
                        ((:kind "end") . nil)))
          (jumpseat--inbox-emit '$/progress (list :token (jumpseat--turn-id turn) :value (car each)))
          (should (equal (jumpseat--view-get :detail) (cdr each))))
        (jumpseat-turn--finish turn nil nil)))))

(ert-deftest units-a-restarted-answer-replaces-the-blocks ()
  (units-with "Question"
    (let ((answer (jumpseat--answer-new "## Assistant")))
      (dolist (delta '((:type "response") (:type "text_start") (:type "text_delta" :transcript "Half")
                       (:type "response") (:type "text_start") (:type "text_delta" :transcript "Whole.")))
        (jumpseat--answer-write answer delta))
      (should (equal (buffer-string) "Question\n\n## Assistant\n\nWhole.")))))

(ert-deftest units-only-the-text-of-the-transcript-is-written ()
  (units-with "Question"
    (let ((answer (jumpseat--answer-new "## Assistant")))
      (dolist (delta '((:type "from_the_future" :text "x") (:type "text_start")
                       (:type "text_delta" :text "## Me" :transcript "\\## Me")))
        (jumpseat--answer-write answer delta))
      (should (equal (buffer-string) "Question\n\n## Assistant\n\n\\## Me")))))

(ert-deftest units-the-header-shows-a-percent-sign ()
  (with-temp-buffer
    (jumpseat--view-update :model "a:b" :quota "chat: 40 % left")
    (should (string-match-p "chat: 40 %% left" (jumpseat--view-header)))))

(ert-deftest units-the-header-has-only-the-parts-that-fit ()
  (let ((width 26))
    (cl-letf (((symbol-function 'jumpseat--view-find-width) (lambda (&optional _) width)))
      (with-temp-buffer
        (jumpseat--view-update :model "a:b" :state 'approving :tools "tools: files")
        (should (equal (jumpseat--view-header) " a:b · needs your approval"))
        (setq width 41)
        (should (equal (jumpseat--view-header) " a:b · needs your approval · tools: files"))))))

(ert-deftest units-the-header-is-made-once-for-each-status ()
  (with-temp-buffer
    (jumpseat--view-update :model "a:b")
    (let ((header (jumpseat--view-header)))
      (should (eq header (jumpseat--view-header)))
      (jumpseat--view-update :state 'waiting)
      (should-not (equal header (jumpseat--view-header))))))

;;; Context

(ert-deftest units-the-size-of-a-short-text-is-a-number-of-tokens ()
  (dolist (pair '(("x" . "about 0 tokens") ("12345" . "about 1 token") ("12345678" . "about 2 tokens")))
    (let ((item (jumpseat--context-text-item "note" (car pair))))
      (jumpseat--context-build item)
      (should (equal (jumpseat--context-describe-size item) (cdr pair)))))
  (let ((item (jumpseat--context-image-item "x" "image/png")))
    (jumpseat--context-build item)
    (should (equal (jumpseat--context-describe-size item) "image or document"))))

;;; Tools

(ert-deftest units-a-unified-difference-has-three-lines-of-context ()
  (should (equal (jumpseat--hunks-format-diff "1\n2\n3\n4\n5\n6\n7\n8\n9\n" "1\n2\n3\n4\nx\n6\n7\n8\n9\n" "a")
                 "--- a\n+++ a\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"))
  (should (equal (jumpseat--hunks-format-diff nil "x" "a")
                 "--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n")))

(ert-deftest units-buttons-are-not-divided-between-lines ()
  (cl-letf (((symbol-function 'jumpseat--view-find-width) (lambda (&optional _) 20)))
    (should (equal (jumpseat-calls--fill-buttons '("[Allow C-c]" "[Deny]" "[More C-d]"))
                   "[Allow C-c] [Deny]\n[More C-d]"))))

(ert-deftest units-switching-a-tool-leaves-selectors-of-other-servers ()
  (let ((rows '(:tools [(:server "a" :tool "x") (:server "a" :tool "y") (:server "b" :tool "x")])))
    (should (equal (jumpseat-tools--switch '("b/*" "a/*") rows "a" "x") '("b/*" "a/y")))
    (should (equal (jumpseat-tools--switch '("b/*" "a/y") rows "a" "x") '("b/*" "a/*")))
    (should (equal (jumpseat-tools--switch '("b/*" "a/y") rows "a" nil) '("b/*")))
    (should (equal (jumpseat-tools--switch '("b/*") rows "a" nil) '("b/*" "a/*")))
    (should (equal (jumpseat-tools--switch '("c/*") rows "c" nil) nil))))

(ert-deftest units-the-home-directory-is-not-a-workspace ()
  (let ((default-directory (expand-file-name "~/")))
    (should-not (jumpseat--workspace-folder)))
  (let ((default-directory "/ssh:example.org:/home/mona/x/"))
    (should-not (jumpseat--workspace-folder)))
  (let ((default-directory (file-name-as-directory (make-temp-file "units" t))))
    (should (equal (jumpseat--workspace-folder) default-directory))
    (delete-directory default-directory)))

(ert-deftest units-an-edit-of-a-text-that-has-changed-is-refused ()
  (let* ((file (make-temp-file "units")) (buffer (find-file-noselect file)))
    (unwind-protect
        (with-current-buffer buffer
          (insert "a\nb\n")
          (let* ((document (elt (plist-get (jumpseat-workspace--report-unsaved
                                            (list :uris (vector (jumpseat--region-uri file))))
                                           :documents)
                                0))
                 (edits [(:range (:start (:line 0 :character 0) :end (:line 1 :character 0)) :newText "A\n")
                         (:range (:start (:line 2 :character 0) :end (:line 2 :character 0)) :newText "c\n")])
                 (params `(:edit (:documentChanges [(:textDocument ,document :edits ,edits)]))))
            (should (equal (plist-get document :text) "a\nb\n"))
            (should (equal (jumpseat-workspace--apply-edit params) '(:applied t)))
            (should (equal (buffer-string) "A\nb\nc\n"))
            (should (eq :json-false (plist-get (jumpseat-workspace--apply-edit params) :applied)))
            (should (equal (buffer-string) "A\nb\nc\n"))
            (set-buffer-modified-p nil)
            (should (equal (jumpseat-workspace--report-unsaved nil) '(:documents [])))))
      (kill-buffer buffer)
      (delete-file file))))

(ert-deftest units-the-list-of-tools-says-why-there-are-no-file-tools ()
  (units-with ""
    (setq default-directory (expand-file-name "~/"))
    (let ((chat (current-buffer)))
      (units-with ""
        (setq jumpseat-tools--chat chat)
        (jumpseat-tools--draw)
        (should (string-search "this chat's directory is your home directory" (buffer-string)))))))

(ert-deftest units-the-list-of-tools-says-why-a-server-failed ()
  (should (equal (jumpseat-tools--describe-state '(:state "failed" :error "The program a was not found."))
                 "failed: The program a was not found"))
  (should (equal (jumpseat-tools--describe-state '(:state "needs_sign_in")) "needs sign in")))

(provide 'units-chat)
;;; units-chat.el ends here
